"""Policies that are learned from logs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo
from hambo import _native

from .conftest import TINY

QUICK = hambo.Learner(
    hidden=[8], clone_steps=50, batch_size=32, episodes=5, gradient_steps=20, judged_episodes=4, max_rounds=2
)


def test_defaults_are_those_of_the_rust_library() -> None:
    rust = json.loads(_native.default_settings())["learn"]
    # float32 on one side.
    assert hambo.Learner()._document() == {**rust, "discount": pytest.approx(rust["discount"])}


def test_a_learned_policy_is_a_file_that_other_worlds_may_certify(data: hambo.Dataset, tmp_path: Path) -> None:
    states, out = data.states, tmp_path / "policy.onnx"
    model = hambo.fit(data, TINY, seed=0)
    learned = hambo.learn(model, out, QUICK, horizon=10, seed=1, progress=False)
    assert learned.path == out and out.exists()
    assert len(learned.rounds) == 3 and 0 <= learned.best_round <= 2
    kept = [k for k, found in enumerate(learned.rounds) if not found.doubts] or [0]
    assert learned.best_round == max(kept, key=lambda k: learned.rounds[k].bound)
    assert len(learned.rounds[0].worlds) == model.members
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(out, providers=["CPUExecutionProvider"])
    [actions] = session.run(None, {"observation": states[:20]})
    low, high = data.actions.min(axis=0), data.actions.max(axis=0)
    assert actions.shape == (20, 1) and np.all((low <= actions) & (actions <= high))
    found = hambo.evaluate(model, str(out), horizon=10, episodes=50, progress=False)
    [shared] = [warning for warning in found.warnings if warning.code == "shared_episodes"]
    assert shared.disqualifies and "chosen by worlds of" in shared.message


def test_the_same_seed_learns_the_same(model: hambo.EnsembleModel, tmp_path: Path) -> None:
    for name, threads in (("a.onnx", 1), ("b.onnx", 2)):
        hambo.learn(model, tmp_path / name, QUICK, horizon=5, threads=threads, progress=False)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_what_cannot_be_learned_is_said(model: hambo.EnsembleModel, tmp_path: Path) -> None:
    with pytest.raises(hambo.errors.SettingError, match=r"give hambo\.Learner"):
        hambo.learn(model, tmp_path / "p.onnx", TINY, horizon=5)  # type: ignore[arg-type]
    with pytest.raises(hambo.errors.SettingError, match="`hidden` is 0"):
        hambo.learn(model, tmp_path / "p.onnx", hambo.Learner(hidden=[0]), horizon=5)


def test_a_call_that_was_interrupted_goes_on(model: hambo.EnsembleModel, tmp_path: Path) -> None:
    # Long enough for events between two rounds.
    longer = dataclasses.replace(QUICK, gradient_steps=400, max_rounds=3)

    def learn(name: str, progress: Any) -> bytes:
        kept = tmp_path / "kept" if name == "resumed.onnx" else None
        hambo.learn(model, tmp_path / name, longer, horizon=5, progress=progress, checkpoint=kept)
        return (tmp_path / name).read_bytes()

    def stop_in_the_second(event: hambo.Progress) -> None:
        if event.step >= 2:
            raise KeyboardInterrupt

    steps: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        learn("resumed.onnx", stop_in_the_second)
    resumed = learn("resumed.onnx", lambda event: steps.append(event.step))
    assert 1 not in steps, "it began again"
    assert resumed == learn("whole.onnx", False)


def test_a_policy_chooses_between_what_was_logged(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    states = rng.normal(size=(401, 2)).astype(np.float32)
    chosen = rng.integers(3, size=400)
    data = hambo.Dataset.from_arrays(
        states[:-1], chosen, states[:-1, 0], states[1:], episode=np.arange(400) // 20, discrete_actions=3
    )
    out = tmp_path / "policy.onnx"
    hambo.learn(hambo.fit(data, TINY, seed=0), out, QUICK, horizon=5, progress=False)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(out, providers=["CPUExecutionProvider"])
    [actions] = session.run(None, {"observation": states[:50]})
    assert actions.shape == (50, 3)
    assert np.all(np.sort(actions, axis=1) == [0, 0, 1]), actions


@pytest.mark.parametrize("against", ["worlds", "ca", "da1", "mopo"])
def test_opponents_teach_as_well(model: hambo.EnsembleModel, tmp_path: Path, against: Any) -> None:
    # Two rounds improve on a random policy, but not on a copy, which no world has taught.
    for clone_steps, is_copy in ((0, False), (50, True)):
        settings = dataclasses.replace(QUICK, against=against, branch=3, penalty=0.5, clone_steps=clone_steps)
        learned = hambo.learn(model, tmp_path / "policy.onnx", settings, horizon=5, progress=False)
        assert len(learned.rounds) == 3 and (learned.best_round == 0) == is_copy
        found = hambo.evaluate(model, str(learned.path), horizon=5, episodes=50, progress=False)
        doubts = {warning.code for warning in found.warnings if warning.disqualifies}
        assert ("learned_in_worlds" not in doubts) == is_copy


def test_halves_share_no_episode_where_episodes_are_alike_by_chance() -> None:
    # Ten episodes, all the same.
    steps = np.tile(np.arange(4, dtype=np.float32), 10)
    data = hambo.Dataset.from_arrays(steps, steps % 2, steps, steps + 1, episode=np.repeat(np.arange(10), 4))
    half, rest = data.split(0.5, seed=0)
    assert len(data.without(half)) == len(rest) == 20
    assert len(rest.without(half)) == 20
