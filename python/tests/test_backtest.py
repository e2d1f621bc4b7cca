from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp, simulate

from .conftest import TINY, Array, still


@pytest.fixture(scope="module")
def logs() -> hambo.Dataset:
    data = simulate("pendulum", SwingUp.weak(), episodes=12, horizon=20)
    return data.with_sources(["monday", "tuesday"] * 6)


def test_a_backtest_says_what_would_have_been_claimed(logs: hambo.Dataset, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="hambo"):
        found = hambo.backtest(logs, TINY, horizon=8, reward="pendulum", seed=1, progress=False)
    assert found.refitted and found.delta == 0.05 and found.horizon == 8
    assert {claim.group for claim in found.over_all} >= {"monday", "tuesday"}
    assert sorted({claim.horizon for claim in found.claims}) == [1, 2, 4, 8]
    assert found.held == (not found.failed) and 0 < found.chance <= 1
    assert json.loads(found.to_json())["outcome"] == found.outcome
    assert found.summary in caplog.text and found.summary in repr(found)
    assert all(claim.claimed <= claim.estimate for claim in found.claims)
    again = hambo.backtest(logs, TINY, horizon=8, reward="pendulum", seed=1, progress=False)
    assert again == found


def test_a_backtest_needs_something_to_leave_out() -> None:
    data = simulate("pendulum", SwingUp.weak(), episodes=6, horizon=10)
    with pytest.raises(hambo.HamboError, match="at least two parts of 5 episodes"):
        hambo.backtest(data, TINY, horizon=5, progress=False)
    with pytest.raises(hambo.errors.SettingError, match="make a Dataset"):
        hambo.backtest([1, 2], TINY, horizon=5)  # type: ignore[arg-type]


def test_a_backtest_can_be_drawn(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, horizon=5, episodes=60).backtest
    assert found is not None and not found.refitted
    pytest.importorskip("matplotlib").use("Agg")
    axes = found.plot()
    assert len(axes.get_yticklabels()) == len(found.over_all)


def test_an_evaluation_may_be_against_the_logs_or_another_policy(model: hambo.Model, tmp_path: Path) -> None:
    def push(states: Array) -> Array:
        return np.full((len(states), 1), 0.5, dtype=np.float32)

    found = hambo.evaluate(model, still, horizon=5, episodes=60, against="logged", margin=-1e6)
    improvement = found.improvement
    assert improvement is not None and improvement.against == "the logs"
    assert found.logged_return is not None and improvement.baseline == found.logged_return
    assert improvement.lower_bound < improvement.estimate.mean
    assert found.verdict() in ("certified", "inconclusive")
    assert "improvement on the logs" in repr(found)
    other = hambo.evaluate(model, still, horizon=5, episodes=60, against=push, margin=1e6)
    assert other.improvement is not None and other.improvement.against == "push"
    assert other.verdict() == other.verdict(-1e9) == "not_certified"
    assert hambo.evaluate(model, still, horizon=5, episodes=60, against=push).verdict() == "no_threshold"
    assert hambo.evaluate(model, still, horizon=5, episodes=60).improvement is None
    page = tmp_path / "page.html"
    found.report(page)
    assert "improvement on the logs" in page.read_text(encoding="utf-8")
    # Data of the model are 40 steps long.
    with pytest.raises(hambo.HamboError, match="shorter than the horizon"):
        hambo.evaluate(model, still, horizon=50, episodes=60, against="logged")


def test_a_policy_may_have_been_trained_on_the_same_episodes(data: hambo.Dataset, model: hambo.Model) -> None:
    some = hambo.Dataset.from_arrays(
        data.states[:80],
        data.actions[:80],
        data.rewards[:80],
        data.next_states[:80],
        episode=np.repeat([0, 1], 40),
    )
    rest = data.without(some)
    assert len(rest) == len(data) - 80 and len(data) == 400
    found = hambo.evaluate(model, still, horizon=5, episodes=60, trained_on=some)
    assert found.reuse == (2, 10)
    assert any(warning.code == "shared_episodes" and not warning.disqualifies for warning in found.warnings)
    assert hambo.evaluate(model, still, horizon=5, episodes=60, trained_on=rest).reuse == (8, 10)
    assert hambo.evaluate(model, still, horizon=5, episodes=60).reuse is None
    with pytest.raises(hambo.errors.DataError, match="none is left"):
        data.without(data)


def test_an_evaluation_says_how_close_it_was(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, horizon=5, episodes=60)
    assert found.lower_bound is not None and found.neutral is not None
    close = found.how_close(found.lower_bound)
    assert close.tipping_factor == pytest.approx(close.factor) and close.times_as_many_episodes is None
    below = found.how_close(found.lower_bound - 5.0)
    assert below.tipping_factor is not None and close.factor is not None and below.tipping_factor > close.factor
    assert found.how_close(found.neutral.estimate.mean + 1.0).tipping_factor is None
