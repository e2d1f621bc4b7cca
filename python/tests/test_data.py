from __future__ import annotations

import copy
import pickle
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo


def columns(rows: int = 12, length: int = 4) -> dict[str, Any]:
    """Episodes of a point that walks along a line."""
    step = np.arange(rows) % length
    states = np.stack([step, np.arange(rows) // length], axis=1).astype(np.float32)
    return {
        "states": states,
        "actions": np.ones((rows, 1), dtype=np.float32),
        "rewards": np.arange(rows, dtype=np.float32),
        "next_states": states + np.array([1, 0], dtype=np.float32),
        "truncated": step == length - 1,
    }


def test_arrays_come_back_as_they_were_given() -> None:
    given = columns()
    data = hambo.Dataset.from_arrays(**given)
    assert len(data) == 12
    for name in ("states", "actions", "rewards", "next_states"):
        np.testing.assert_array_equal(getattr(data, name), given[name])
    assert [len(episode.rewards) for episode in data.episodes] == [4, 4, 4]
    np.testing.assert_array_equal(data.returns, [6.0, 22.0, 38.0])
    np.testing.assert_array_equal(data.initial_states, [[0, 0], [0, 1], [0, 2]])
    assert data.summary()["truncated_episodes"] == 3


def test_other_number_types_and_layouts_are_converted() -> None:
    given = columns()
    given["states"] = np.asfortranarray(given["states"].astype(np.float64))
    given["next_states"] = given["next_states"].tolist()
    assert hambo.Dataset.from_arrays(**given) == hambo.Dataset.from_arrays(**columns())


def test_contiguous_float32_arrays_are_not_copied() -> None:
    rows = 1_000_000
    states = np.zeros((rows, 32), dtype=np.float32)
    states[:, 0] = np.arange(rows)
    given: dict[str, Any] = {
        "states": states,
        "actions": np.zeros((rows, 1), dtype=np.float32),
        "rewards": np.zeros(rows, dtype=np.float32),
        "next_states": states,
        "episode": np.arange(rows),
    }
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data = hambo.Dataset.from_arrays(**given)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert len(data) == rows
    # The states alone have 122 MiB, and are given twice. What grows is flags and episodes, 115 MiB if nothing was
    # loaded before; a copy of the states would come on top.
    assert grown < 160, f"{grown:.0f} MiB more"


def test_without_next_states_the_last_row_of_an_episode_is_dropped() -> None:
    given = columns()
    del given["next_states"]
    data = hambo.Dataset.from_arrays(**given)
    assert len(data) == 9
    np.testing.assert_array_equal(data.next_states[:3, 0], [1, 2, 3])
    assert any("dropped" in note for note in data.notes)


def test_episode_numbers_end_episodes() -> None:
    given = columns()
    del given["truncated"]
    given["episode"] = np.arange(12) // 4
    assert [len(episode.rewards) for episode in hambo.Dataset.from_arrays(**given).episodes] == [4, 4, 4]


def test_discrete_actions_are_one_hot_encoded() -> None:
    given = columns()
    given["actions"] = np.arange(12) % 3
    data = hambo.Dataset.from_arrays(**given, discrete_actions=3)
    np.testing.assert_array_equal(data.actions[:4], np.eye(3)[[0, 1, 2, 0]])


def test_d4rl_dictionaries_are_read() -> None:
    given = columns()
    d4rl = {
        "observations": given["states"],
        "actions": given["actions"],
        "rewards": given["rewards"],
        "next_observations": given["next_states"],
        "terminals": np.zeros(12, dtype=bool),
        "timeouts": given["truncated"],
        "infos/qpos": np.zeros(12),
    }
    assert hambo.Dataset.from_d4rl(d4rl) == hambo.Dataset.from_arrays(**given)
    with pytest.raises(ValueError, match="has no `rewards`"):
        hambo.Dataset.from_d4rl({key: value for key, value in d4rl.items() if key != "rewards"})


def test_files_are_read(tmp_path: Path) -> None:
    given = columns()
    np.savez(tmp_path / "log.npz", **given)
    assert hambo.Dataset.open(tmp_path / "log.npz") == hambo.Dataset.from_arrays(**given)
    lines = ["x,y,u,r,end", *(f"{row % 4},{row // 4},1,{row},{int(row % 4 == 3)}" for row in range(12))]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    data = hambo.Dataset.open(tmp_path / "log.csv", state=["x", "y"], action="u", reward="r", truncated="end")
    assert (len(data), data.state_names) == (9, ["x", "y"])


def test_wrong_data_is_refused_with_its_place() -> None:
    given = columns()
    given["states"][5, 1] = np.nan
    with pytest.raises(hambo.errors.DataError, match="episode 1, step 1: state column 1 is NaN") as caught:
        hambo.Dataset.from_arrays(**given)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, hambo.HamboError)
    given = columns()
    given["next_states"] = given["next_states"] + 1.0
    with pytest.raises(ValueError, match="the next state of step 0 is not the state of step 1"):
        hambo.Dataset.from_arrays(**given)
    given = columns()
    given["rewards"] = given["rewards"][:-1]
    with pytest.raises(ValueError, match="`states` has 12 rows, the rewards have 11"):
        hambo.Dataset.from_arrays(**given)
    given = columns()
    given["truncated"] = None
    with pytest.raises(ValueError, match="nothing says where episodes end"):
        hambo.Dataset.from_arrays(**given)
    given["episode"] = np.arange(12) % 2
    with pytest.raises(ValueError, match="comes back"):
        hambo.Dataset.from_arrays(**given)


def test_missing_and_damaged_files_are_os_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="neither a file"):
        hambo.Dataset.open(tmp_path / "nothing.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(OSError, match="bad.parquet") as caught:
        hambo.Dataset.open(tmp_path / "bad.parquet")
    assert isinstance(caught.value, hambo.HamboError)


def test_datasets_pickle_and_copy(data: hambo.Dataset) -> None:
    again = pickle.loads(pickle.dumps(data))
    assert again == data
    assert copy.deepcopy(data).summary() == data.summary()


def test_arrays_and_files_are_assembled_by_the_same_rules(tmp_path: Path) -> None:
    given = {**columns(), "truncated": None, "episode": np.arange(12) // 4}
    data = hambo.Dataset.from_arrays(**given)
    np.savez(tmp_path / "log.npz", **{key: value for key, value in given.items() if value is not None})
    stored = hambo.Dataset.open(tmp_path / "log.npz")
    # What is odd about the data follows, with the columns' names.
    assert data == stored and data.notes[:2] == stored.notes[:2] and "3 episodes" in data.notes[0]
    # An episode that goes on after its end contradicts itself, wherever it comes from.
    given["terminated"] = np.arange(12) == 5
    np.savez(tmp_path / "wrong.npz", **{key: value for key, value in given.items() if value is not None})
    messages = []
    makers: list[Callable[[], hambo.Dataset]] = [
        lambda: hambo.Dataset.from_arrays(**given),
        lambda: hambo.Dataset.open(tmp_path / "wrong.npz"),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="row 5 is marked terminated") as caught:
            make()
        messages.append(str(caught.value).split(": ", 1)[1])
    assert messages[0] == messages[1]


def test_episodes_know_where_they_came_from() -> None:
    pa = pytest.importorskip("pyarrow")
    given = columns()
    number = np.repeat(np.arange(3), 4)
    data = hambo.Dataset.from_arrays(**given, source=np.array(["night", "day"])[number % 2])
    assert data.sources == ["night", "day", "night"]
    assert pickle.loads(pickle.dumps(data)).sources == data.sources
    assert hambo.Dataset.from_arrays(**given).sources is None
    assert hambo.Dataset.from_arrays(**given).with_sources(["a", "b", "a"]).sources == ["a", "b", "a"]
    with pytest.raises(hambo.errors.DataError, match="2 sources for 3 episodes"):
        data.with_sources(["a", "b"])
    table = pa.table(
        {
            "obs": [0.0, 1.0],
            "action": [0.0, 0.0],
            "reward": [0.0, 0.0],
            "next_obs": [1.0, 2.0],
            "episode": [0, 1],
            "shift": ["night", "day"],
        }
    )
    assert hambo.Dataset.from_arrow(table, source_column="shift").sources == ["night", "day"]
    mixed = np.array(["night"] * 11 + ["day"])
    with pytest.raises(hambo.errors.DataError, match="episode 2 has the sources day, night"):
        hambo.Dataset.from_arrays(**given, source=mixed)
