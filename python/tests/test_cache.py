"""Results that were found before."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp, simulate

POLICIES = Path(__file__).parents[2] / "crates/hambo-cli/tests/fixture"
TASK: dict[str, Any] = {
    "horizon": 20,
    "reward": "pendulum",
    "state_bounds": "pendulum",
    "episodes": 50,
    "progress": False,
}


@pytest.fixture(scope="module")
def models() -> list[hambo.Model]:
    data = simulate("pendulum", SwingUp.weak(), episodes=20, horizon=20, seed=0)
    small = hambo.Ensemble(hidden=[8], members=3, max_steps=20, learn_reward=False)
    return [hambo.fit(data, small, seed=seed, progress=False) for seed in (0, 1)]


def entries(folder: Path) -> int:
    return len(list(folder.iterdir())) if folder.exists() else 0


def test_what_has_not_changed_is_not_evaluated_again(models: list[hambo.Model], tmp_path: Path) -> None:
    cache, policy = tmp_path / "cache", tmp_path / "policy.onnx"
    policy.write_bytes((POLICIES / "policy.onnx").read_bytes())
    first = hambo.evaluate(models[0], policy, **TASK, cache=cache)
    seen: list[hambo.Progress] = []
    again = hambo.evaluate(models[0], policy, **{**TASK, "progress": seen.append}, cache=cache)
    assert first == again and not seen and entries(cache) == 1
    # The same in another process, or loaded from a folder.
    models[0].save(tmp_path / "model")
    loaded = hambo.load(tmp_path / "model")
    assert hambo.evaluate(loaded, policy, **TASK, cache=cache).to_dict()["timings"] == first.to_dict()["timings"]
    starts = loaded.initial_states
    assert starts is not None
    changes: list[dict[str, Any]] = [{"seed": 1}, {"delta": 0.1}, {"horizon": 10}]
    changes += [{"reward": f"0 - {loaded.state_names[0]}"}, {"initial_states": starts[:5]}]
    changes += [{"initial_states": starts[:6]}]
    for number, change in enumerate(changes):
        hambo.evaluate(models[0], policy, **{**TASK, **change}, cache=cache)
        assert entries(cache) == number + 2, change
    hambo.evaluate(models[1], policy, **TASK, cache=cache)
    policy.write_bytes((POLICIES / "linear.onnx").read_bytes())
    other = hambo.evaluate(models[0], policy, **TASK, cache=cache)
    assert other != first and entries(cache) == len(changes) + 3


def test_a_function_is_never_taken_for_another_one(
    models: list[hambo.Model], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "hambo"):
        hambo.evaluate(models[0], SwingUp(), **TASK, cache=tmp_path / "cache")
    assert "nobody can tell whether the policy is the same" in caplog.text
    policy = POLICIES / "policy.onnx"
    reward = {"reward": lambda states, actions, next_states: np.zeros(len(states))}
    hambo.evaluate(models[0], policy, **{**TASK, **reward}, cache=tmp_path / "cache")
    assert entries(tmp_path / "cache") == 0


def test_a_night_later_a_ranking_does_only_what_is_new(models: list[hambo.Model], tmp_path: Path) -> None:
    policies: dict[str, Any] = {name: POLICIES / f"{name}.onnx" for name in ("policy", "linear")}
    first = hambo.rank(models[0], policies, **TASK, separate=True, cache=tmp_path)
    [one, two] = sorted(tmp_path.iterdir())
    one.write_bytes(one.read_bytes()[:-1])
    before = two.stat().st_mtime_ns
    again = hambo.rank(models[0], policies, **TASK, separate=True, cache=tmp_path)
    assert dict(first) == dict(again)
    assert two.stat().st_mtime_ns == before
