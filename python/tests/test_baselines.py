"""Other opinions beside a bound."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo
from hambo import _native

from .conftest import QUICK, Array, still

FAST = hambo.BaselineSettings(members=3, hidden=[8], steps=50, episodes=50, resamples=100)


class Coin:
    """Goes left or right by chance, and knows how probable that is."""

    def __init__(self, right: float) -> None:
        self.right, self._rng = right, np.random.default_rng(0)

    def __call__(self, states: Array) -> Array:
        return (self._rng.random((len(states), 1)) < self.right).astype(np.float32)

    def log_prob(self, _states: Array, actions: Array) -> Any:
        return np.log(np.where(actions[:, 0] > 0.5, self.right, 1 - self.right))


def walks(right: float, episodes: int, seed: int = 0) -> hambo.Dataset:
    """Five steps from the middle, each of which earns where it leads."""
    rng = np.random.default_rng(seed)
    actions = rng.random((episodes, 5)) < right
    places = np.concatenate([np.zeros((episodes, 1)), np.cumsum(2 * actions - 1, axis=1)], axis=1)
    data = hambo.Dataset.from_arrays(
        places[:, :-1].reshape(-1, 1),
        actions.reshape(-1, 1).astype(np.float32),
        places[:, 1:].reshape(-1),
        places[:, 1:].reshape(-1, 1),
        episode=np.repeat(np.arange(episodes), 5),
    )
    return data.with_log_probs(np.log(np.where(actions, right, 1 - right)).reshape(-1))


def test_defaults_are_those_of_the_rust_library() -> None:
    assert hambo.BaselineSettings()._document() == json.loads(_native.default_settings())["baselines"]


def test_estimators_agree_with_sums_by_hand() -> None:
    data = walks(0.4, 200)
    model = hambo.fit(data, hambo.Ensemble(tables=True), seed=0)
    found = hambo.baselines(model, Coin(0.6), data, horizon=5, settings=FAST, progress=False)
    actions = data.actions.reshape(200, 5) > 0.5
    rewards = data.rewards.reshape(200, 5).astype(float)
    weights = np.cumprod(np.where(actions, 0.6 / 0.4, 0.4 / 0.6), axis=1)
    whole, returns = weights[:, -1], rewards.sum(axis=1)
    by_hand = {
        "logged": returns.mean(),
        "is": (whole * returns).mean(),
        "wis": (whole * returns).sum() / whole.sum(),
        "pdis": (weights * rewards).sum(axis=1).mean(),
        "pdwis": ((weights * rewards).sum(axis=0) / weights.sum(axis=0)).sum(),
    }
    for method, expected in by_hand.items():
        assert found[method].estimate == pytest.approx(expected, rel=1e-6), method
    assert found["is"].effective_episodes == pytest.approx(whole.sum() ** 2 / (whole**2).sum(), rel=1e-6)
    assert found["is"].largest_share == pytest.approx(whole.max() / whole.sum(), rel=1e-6)
    # The truth: every step goes .2 to the right on average.
    truth = 0.2 * (1 + 2 + 3 + 4 + 5)
    for method in ("dr", "wdr", "fqe"):
        error = found[method].std_error
        assert error is not None and abs(found[method].estimate - truth) < 4 * error, method
    assert set(found["dr"].limits) == {"student", "bootstrap"} and "bernstein" in found["is"].limits
    frame = found.to_frame()
    assert len(frame) == len(found.opinions) and {"student", "estimate"} <= set(frame.columns)
    assert "dr" in repr(found) and found.episodes == 200 and found.left_out == 0


def test_what_cannot_be_said_is_explained(model: hambo.Model) -> None:
    found = hambo.baselines(model, still, horizon=10, settings=FAST, progress=False)
    assert "log_probability" in found.unsaid["is"]
    with pytest.raises(KeyError, match="log_probability"):
        found["dr"]
    with pytest.raises(KeyError, match="none of"):
        found["magic"]
    assert found.penalty is not None and found.penalty["needed"] >= 0
    with pytest.raises(hambo.errors.SettingError, match=r"baselines\.members"):
        hambo.baselines(model, still, horizon=10, settings=hambo.BaselineSettings(members=1))
    with pytest.raises(hambo.errors.SettingError, match="`baselines` is"):
        hambo.evaluate(model, still, baselines=3, **QUICK)  # type: ignore[arg-type]


def test_an_evaluation_brings_them_along(model: hambo.Model, tmp_path: Path) -> None:
    alone = hambo.evaluate(model, still, **QUICK)
    assert alone.baselines is None
    found = hambo.evaluate(model, still, baselines=FAST, **QUICK)
    assert found.lower_bound == alone.lower_bound
    assert found.baselines is not None and math.isfinite(found.baselines["fqe"].estimate)
    again = hambo.Evaluation.from_json(found.to_json())
    assert again.baselines is not None and again.baselines.to_dict() == found.baselines.to_dict()
    found.report(tmp_path / "report.html")
    assert "Other opinions" in (tmp_path / "report.html").read_text()


def test_probabilities_belong_to_the_data(data: hambo.Dataset) -> None:
    known = data.with_log_probs(np.full(len(data.rewards), -1.0))
    assert known.log_probs is not None and known.log_probs.shape == (len(data.rewards),)
    half, _ = known.split(0.5, seed=0)
    assert half.log_probs is not None and len(half.log_probs) == len(half.rewards)
    assert known.fingerprint == data.fingerprint
    with pytest.raises(hambo.errors.DataError, match="probabilities for"):
        data.with_log_probs([0.0])
    with pytest.raises(hambo.errors.DataError, match="row 0"):
        data.with_log_probs(np.full(len(data.rewards), -np.inf))


def test_a_policy_of_stable_baselines_knows_its_densities() -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    gymnasium = pytest.importorskip("gymnasium")
    policy = sb3.PPO("MlpPolicy", gymnasium.make("Pendulum-v1"), seed=0, device="cpu")
    data = hambo.tasks.simulate("pendulum", hambo.tasks.SwingUp.weak(), episodes=10, horizon=20)
    data = data.with_log_probs(np.full(len(data.rewards), -1.4))
    model = hambo.fit(data, hambo.Ensemble(members=3, hidden=[8], max_steps=20), seed=0)
    found = hambo.baselines(model, policy, horizon=5, deterministic=False, settings=FAST, progress=False)
    assert found["is"].effective_episodes is not None
    best = hambo.baselines(model, policy, horizon=5, settings=FAST, progress=False)
    assert "log_prob" in best.unsaid["is"]
