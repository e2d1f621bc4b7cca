"""Discrete action spaces of Minari datasets are found without being told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hambo

STORED = Path(__file__).parents[2] / "crates" / "hambo-io" / "tests" / "data" / "datasets" / "0"


@pytest.mark.parametrize("kind", ["minari_arrow", "minari_hdf5"])
def test_by_folder_and_by_id(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = STORED / kind / "random" / "ds-v0"
    data = hambo.Dataset.from_minari(folder)
    assert data.actions.shape == (23, 5) and set(data.actions.sum(axis=1)) == {1.0}
    assert data == hambo.Dataset.from_minari(folder, discrete_actions=5)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(STORED / kind))
    assert hambo.Dataset.from_minari("random/ds-v0") == data


class Discrete:
    """Like Gymnasium's space of that name."""

    def __init__(self, n: int, start: int = 0) -> None:
        self.n, self.start = n, start


def dataset(actions: list[int], space: Any) -> Any:
    episode = SimpleNamespace(
        observations=np.arange(len(actions) + 1, dtype=np.float32)[:, np.newaxis],
        actions=np.array(actions),
        rewards=np.zeros(len(actions)),
        terminations=np.zeros(len(actions), dtype=bool),
        truncations=np.arange(len(actions)) == len(actions) - 1,
    )
    return SimpleNamespace(iterate_episodes=lambda: [episode], action_space=space)


def test_of_an_object() -> None:
    found = hambo.Dataset.from_minari(dataset([1, 0, 1], Discrete(2)))
    np.testing.assert_array_equal(found.actions, np.eye(2)[[1, 0, 1]])
    shifted = hambo.Dataset.from_minari(dataset([6, 5, 6], Discrete(2, start=5)))
    np.testing.assert_array_equal(shifted.actions, found.actions)
    assert hambo.Dataset.from_minari(dataset([1, 0, 1], SimpleNamespace())).actions.shape == (3, 1)


def test_several_choices_and_observations_of_several_parts() -> None:
    steps = 4
    episode = SimpleNamespace(
        observations={
            "speed": np.arange(steps + 1, dtype=np.float32),
            "place": (np.zeros((steps + 1, 2)), np.ones(steps + 1)),
        },
        actions=np.array([[2, 0], [0, 1], [1, 1], [2, 0]]),
        rewards=np.zeros(steps),
        terminations=np.zeros(steps, dtype=bool),
        truncations=np.arange(steps) == steps - 1,
    )
    space = SimpleNamespace(nvec=np.array([3, 2]))
    found = hambo.Dataset.from_minari(SimpleNamespace(iterate_episodes=lambda: [episode], action_space=space))
    assert found.state_names == ["place.0_0", "place.0_1", "place.1", "speed"]
    np.testing.assert_array_equal(found.actions[:, :3].argmax(axis=1), episode.actions[:, 0])
    np.testing.assert_array_equal(found.actions[:, 3:].argmax(axis=1), episode.actions[:, 1])
    episode.observations = np.zeros((steps + 1, 4, 4, 3), dtype=np.uint8)
    with pytest.raises(hambo.errors.DataError, match="arrays of 4 x 4 x 3, such as images"):
        hambo.Dataset.from_minari(SimpleNamespace(iterate_episodes=lambda: [episode], action_space=space))
