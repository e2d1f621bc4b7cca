"""What a new user once stumbled over, and must not again."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp, simulate

from .conftest import TINY, Array


def walk(episodes: int = 40, length: int = 20, reward: float = 1.0) -> hambo.Dataset:
    """A point on a line that is pushed about at random, and stays near the middle."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (episodes, length, 1)).astype(np.float32)
    positions = np.concatenate([rng.uniform(-0.2, 0.2, (episodes, 1, 1)), 0.1 * actions], axis=1).cumsum(axis=1)
    return hambo.Dataset.from_arrays(
        positions[:, :-1].reshape(-1, 1),
        actions.reshape(-1, 1),
        np.full(episodes * length, reward),
        positions[:, 1:].reshape(-1, 1),
        truncated=np.tile(np.arange(length) == length - 1, episodes),
        state_names=["x"],
    )


@pytest.fixture(scope="module")
def walker() -> hambo.Model:
    return hambo.fit(walk(), hambo.Ensemble(hidden=[32], max_steps=600), seed=0)


def rush(states: Array) -> Array:
    """Push to the right, all the time."""
    return np.ones((len(states), 1), dtype=np.float32)


def test_1_a_rule_beyond_the_logged_range_can_fire(walker: hambo.Model) -> None:
    # The logs stay within about 1 of the middle; the policy passes 2.4 after 24 steps, and pays for it.
    options: dict[str, Any] = {"horizon": 40, "episodes": 100, "rules_differ": True}
    rule = "abs(next_x) > 2.4"
    found = hambo.evaluate(walker, rush, reward=f"1 - 500*({rule})", termination=rule, **options)
    assert found.variants["worlds"].ended > 0.5
    assert found.lower_bound is not None and found.lower_bound < -400.0


def test_2_small_adversaries_cannot_raise_the_bound(walker: hambo.Model) -> None:
    options: dict[str, Any] = {"horizon": 5, "episodes": 60}
    tiny = hambo.Adversary(hidden=[4], batch_size=8, episodes=4, gradient_steps=1, max_rounds=1, replay_capacity=100)
    alone = hambo.evaluate(walker, rush, **options)
    tested = hambo.evaluate(walker, rush, stress=True, adversary=tiny, **options)
    assert tested.deciding == "worlds" and tested.lower_bound == alone.lower_bound


def test_4_names_for_states_are_told(caplog: pytest.LogCaptureFixture) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    with caplog.at_level(logging.WARNING, logger="hambo"):
        hambo.collect(gymnasium.make("FrozenLake-v1"), steps=50)
    assert "names, not numbers: fit with hambo.Ensemble(tables=True)" in caplog.text


def test_5_a_learned_reward_stays_in_the_logged_range(walker: hambo.Model) -> None:
    found = hambo.evaluate(walker, rush, horizon=40, episodes=100)
    assert found.variants["worlds"].estimate.mean == pytest.approx(40.0, abs=1e-4)
    assert found.lower_bound is not None and found.lower_bound <= 40.0 + 1e-4


def test_7_errors_that_follow_each_other_do_not_block_a_simulator_with_enough_episodes() -> None:
    data = simulate("pendulum", SwingUp.weak(), episodes=30, horizon=40)
    found = hambo.evaluate(hambo.fit(data, TINY), SwingUp.weak(noise=0.0), horizon=20, episodes=60)
    assert "persistent_errors" not in {warning.code for warning in found.warnings}
