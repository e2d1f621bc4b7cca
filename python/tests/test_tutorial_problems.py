"""What the tutorials found: many sources, treatments that nobody has given, columns that no action influences."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp, simulate

from .conftest import TINY, Array, still


def groups(result: hambo.Evaluation) -> list[str]:
    replay = result.to_dict()["variants"][0]["worlds"]["replay"]
    return [group["name"] for group in replay["tried"][0]["groups"]]


def test_many_sources_are_put_together() -> None:
    logs = simulate("pendulum", SwingUp.weak(), episodes=35, horizon=20)
    of_five = logs.with_sources([f"shop {episode % 5}" for episode in range(35)])
    of_seven = logs.with_sources([f"shop {episode % 7}" for episode in range(35)])
    worlds = dataclasses.replace(TINY, members=10)
    found = [
        hambo.evaluate(hambo.fit(data, worlds, seed=0), still, horizon=20, episodes=35, reward="pendulum")
        for data in (of_five, of_seven)
    ]
    assert groups(found[0]) == [f"shop {number}" for number in range(5)]
    assert groups(found[1]) == [f"{part} third of the sources" for part in ("closest", "middle", "furthest")]


def test_treatments_that_were_never_given_are_outside_the_data() -> None:
    """Most pairs are rare, so members that have not seen a pair are nothing unusual."""
    rng = np.random.default_rng(0)
    kinds, patients, steps = 150, 120, 5
    states = rng.integers(0, kinds, (patients, steps + 1))
    actions = np.where(rng.random((patients, steps)) < 0.97, rng.integers(0, 3, (patients, steps)), 3)
    data = hambo.Dataset.from_arrays(
        states[:, :-1].reshape(-1, 1),
        actions.reshape(-1),
        (states[:, 1:] % 2).reshape(-1),
        states[:, 1:].reshape(-1, 1),
        episode=np.repeat(np.arange(patients), steps),
        discrete_actions=4,
    )
    model = hambo.fit(data, hambo.Ensemble(tables=True), seed=0)

    def rare(states: Array) -> Array:
        chosen: Array = np.eye(4, dtype=np.float32)[np.full(len(states), 3)]
        return chosen

    found = hambo.evaluate(model, rare, horizon=steps, episodes=60)
    assert "outside_data" in [warning.code for warning in found.warnings]
    assert found.verdict(found.lower_bound) == "inconclusive"
    (worlds,) = found.variants.values()
    assert worlds.outside_data > 0.8


def test_columns_that_no_action_influences_are_named() -> None:
    logs = simulate("pendulum", SwingUp.weak(), episodes=3, horizon=5)
    assert logs.with_exogenous(["state_2"]).exogenous == ["state_2"] and logs.exogenous == []
    with pytest.raises(hambo.HamboError, match="'wind' is no column of the state: state_0, state_1, state_2"):
        logs.with_exogenous(["wind"])
