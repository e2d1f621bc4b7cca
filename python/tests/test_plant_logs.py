"""Logs as plants export them: times, text, gaps, columns that no action influences."""

import datetime
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hambo
import hambo.errors

STEPS = 8
DAYS = 14


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two buildings, every three hours; the weather is the same in both, and a few rooms were not measured."""
    rng = np.random.default_rng(0)
    lines = ["timestamp,building,room_temp_C,outdoor_temp_C,heater_kW,cost_eur"]
    for building in "AB":
        room = 20.0
        for step in range(DAYS * STEPS):
            when = datetime.datetime(2025, 11, 1) + datetime.timedelta(hours=3 * step)
            outdoor = 5 * np.sin(step / STEPS * 2 * np.pi) + rng.normal()
            heater = 3.0 + 0.5 * (20.0 - room) + rng.normal(0, 0.2)
            shown = "" if step in (13, 40) else f"{room:.4f}"
            lines.append(f"{when},{building},{shown},{outdoor:.4f},{heater:.4f},{0.3 * heater:.4f}")
            room += 0.2 * (heater - 3.0) + 0.02 * outdoor + rng.normal(0, 0.1)
    path = tmp_path / "logs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def opened(file: Path) -> hambo.Dataset:
    return hambo.Dataset.open(
        file,
        state="room_temp_C",
        exogenous=["outdoor_temp_C", "building"],
        action="heater_kW",
        reward="-cost_eur",
        episode="building",
        step="timestamp",
        cut="day",
        source_column="building",
    )


def test_a_log_of_two_buildings_becomes_days(file: Path) -> None:
    data = opened(file)
    assert len(data.episodes) == 2 * DAYS
    assert data.state_names == ["room_temp_C", "outdoor_temp_C", "building=A", "building=B"]
    assert data.exogenous == ["outdoor_temp_C", "building=A", "building=B"]
    assert any("missing in 4 rows" in note for note in map(str, data.notes))
    assert data.rewards[0] == pytest.approx(-0.3 * data.actions[0, 0], abs=1e-3)


def test_gaps_and_exogenous_columns_survive_being_taken_apart(file: Path) -> None:
    data = opened(file)
    again = pickle.loads(pickle.dumps(data))
    assert again._inner.gaps == data._inner.gaps != []
    assert again.exogenous == data.exogenous
    some = data[1:6]
    assert len(some._inner.gaps) == 2
    both = hambo.Dataset.concat([data[:6], data[6:]])
    assert both._inner.identity() == data._inner.identity()
    assert both._inner.gaps == data._inner.gaps
    assert both.exogenous == data.exogenous


def test_a_missing_value_can_be_refused(file: Path) -> None:
    with pytest.raises(hambo.errors.DataError, match="row 15, column `room_temp_C`: the value is missing"):
        hambo.Dataset.open(
            file,
            state="room_temp_C",
            action="heater_kW",
            reward="-cost_eur",
            episode="building",
            step="timestamp",
            missing="refuse",
        )


def test_a_policy_takes_the_columns_that_it_names(file: Path) -> None:
    model = hambo.fit(opened(file), hambo.Ensemble(members=3, hidden=(8,), max_steps=50), seed=0)
    seen: list[tuple[int, ...]] = []

    def policy(states: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        seen.append(states.shape)
        assert set(np.unique(states[:, 1])) <= {0.0, 1.0}
        return 3.0 + 0.5 * (20.0 - states[:, :1])

    options: dict[str, Any] = {"horizon": STEPS, "episodes": 60, "cost_episodes": 10}
    found = hambo.evaluate(model, policy, inputs=["room_temp_C", "building=B"], **options)
    assert found.lower_bound is not None
    assert {shape[1] for shape in seen} == {2}
    with pytest.raises(hambo.errors.SettingError, match="'building=C', which is no column of the state"):
        hambo.evaluate(model, policy, inputs=["building=C"], **options)
