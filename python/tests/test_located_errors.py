"""Arguments that make no sense are refused by name, as errors of this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hambo
from hambo.tasks import simulate

from .conftest import QUICK, TINY, Array, still
from .test_data import columns


class Agent:
    """What Stable-Baselines3's models look like."""

    def predict(self, observation: Array, state: Any = None, deterministic: bool = False) -> tuple[Array, None]:
        return still(observation), None


def refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(hambo.HamboError, match=message) as caught:
        call()
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("seed", [None, -1, 1.5, "0", 2**64])
def test_seeds(seed: Any, model: hambo.Model, data: hambo.Dataset) -> None:
    calls: list[Callable[[], object]] = [
        lambda: hambo.evaluate(model, still, seed=seed, **QUICK),
        lambda: hambo.rank(model, {"a": still}, seed=seed, **QUICK),
        lambda: hambo.fit(data, TINY, seed=seed),
        lambda: hambo.backtest(data, TINY, horizon=5, seed=seed),
        lambda: simulate("pendulum", still, episodes=1, horizon=1, seed=seed),
        lambda: model.draw(data.states, data.actions, seed=seed),
        lambda: data.split(0.5, seed),
    ]
    for call in calls:
        refused(call, "`seed` is .*give a whole number")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variants": "DAinf"}, r"`variants` is the text 'DAinf'; give a list: \['DAinf'\]"),
        ({"variants": ["CB"]}, "unknown variant `CB` in `variants`; there are worlds, CA"),
        ({"variants": 3}, "`variants` is a `int`; give a list of names"),
        ({"accept_weaker": "beta"}, "`accept_weaker` is the text 'beta'"),
        ({"horizon": "5"}, "setting `horizon` is the text '5'"),
        ({"horizon": None}, "setting `horizon` is None"),
        ({"horizon": 2.5}, "setting `horizon` is 2.5"),
        ({"episodes": float("nan")}, "setting `episodes` is nan"),
        ({"delta": None}, "setting `delta` is None"),
        ({"discount": "1"}, "setting `discount` is the text '1'"),
        ({"state_bounds": [1.0, 2.0]}, r"`state_bounds` is a `list`; give hambo.StateBounds\(low, high\)"),
        ({"reward_bounds": 3.0}, r"`reward_bounds` is 3.0; give the smallest and the largest reward"),
        ({"reward_bounds": (1.0, 2.0, 3.0)}, "give the smallest and the largest reward"),
        ({"constraints": ["1"]}, "`constraints` is a `list`; give functions by name"),
        ({"effort": "fast"}, "`effort` is 'fast'; expected 'quick', 'standard' or 'thorough'"),
        ({"initial_states": np.zeros((4, 2))}, r"`initial_states` has shape \(4, 2\); give \[count, 3\]"),
        ({"initial_states": [0.0, 0.0, 0.0]}, r"`initial_states` has shape \(3,\); give \[count, 3\]"),
        ({"initial_states": 5}, r"`initial_states` has shape \(\); give \[count, 3\]"),
        ({"initial_states": [[0.0], [0.0, 1.0]]}, "the rows of `initial_states` differ in length"),
        ({"trained_on": [1]}, "`trained_on` is a `list`; give the Dataset"),
        ({"initial_states": [["a", "b", "c"]]}, "`initial_states` holds .*, not numbers"),
        ({"initial_states": lambda rng, count: np.zeros((count, 2))}, r"returned shape \(60, 2\); return \[60, 3\]"),
    ],
)
def test_options_of_an_evaluation(options: dict[str, Any], message: str, model: hambo.Model) -> None:
    refused(lambda: hambo.evaluate(model, still, **{**QUICK, **options}), message)


def test_policies_without_names_cannot_be_ranked(model: hambo.Model) -> None:
    refused(lambda: hambo.rank(model, [still, still], **QUICK), "`policies` is a `list`; give policies by name")  # type: ignore[arg-type]


def test_settings_that_are_no_settings(data: hambo.Dataset) -> None:
    message = r"`settings` is a `dict`; give hambo.Ensemble\(...\)"
    refused(lambda: hambo.fit(data, {"hidden": [3]}), message)  # type: ignore[call-overload]
    refused(lambda: hambo.backtest(data, {"hidden": [3]}, horizon=5), message)  # type: ignore[arg-type]
    refused(lambda: hambo.fit(data, effort="fast"), "`effort` is 'fast'")  # type: ignore[call-overload]


def test_a_method_instead_of_its_model(model: hambo.Model) -> None:
    agent = Agent()
    refused(
        lambda: hambo.evaluate(model, agent.predict, **QUICK), "the method `predict` of a `Agent`.*the object itself"
    )
    assert hambo.evaluate(model, agent, **QUICK).lower_bound == hambo.evaluate(model, still, **QUICK).lower_bound


def test_a_policy_that_returns_a_tuple(model: hambo.Model) -> None:
    def policy(states: Array) -> Any:
        return still(states), None

    refused(lambda: hambo.evaluate(model, policy, **QUICK), "the policy returned a `tuple` of 2 parts")


def test_rewards_of_two_columns() -> None:
    given = columns()
    given["rewards"] = np.zeros((12, 2))
    refused(lambda: hambo.Dataset.from_arrays(**given), r"`rewards` has shape \(12, 2\); give one number per step")
    given["rewards"] = np.zeros((12, 1))
    assert hambo.Dataset.from_arrays(**given).rewards.shape == (12,)


def test_vector_environments() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    several = gymnasium.make_vec("CartPole-v1", num_envs=3)
    refused(lambda: hambo.collect(several, steps=10), "the environment is a vector of 3")
