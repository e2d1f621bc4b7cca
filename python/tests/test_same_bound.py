"""The same data, seed and policy give the same bound bit for bit: from Rust, from the command, from Python."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp, simulate

POLICY = Path(__file__).parents[2] / "crates" / "hambo-cli" / "assets" / "swing_up.onnx"
SEED = 7

# What `crates/hambo-io/examples/one_bound.rs` sets, all else being the defaults of each.
SETTINGS = """
    model.ensemble.members=3
    model.ensemble.hidden=[16,16]
    model.ensemble.max_steps=200
    evaluation.variants=["ca","da1","dainf","ds"]
    evaluation.episodes=200
    evaluation.adversary.hidden=[16]
    evaluation.adversary.batch_size=64
    evaluation.adversary.episodes=50
    evaluation.adversary.gradient_steps=20
    evaluation.adversary.max_rounds=2
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = simulate("pendulum", SwingUp.weak(), episodes=12, horizon=40)
    path = tmp_path_factory.mktemp("bound") / "log.npz"
    np.savez(
        path,
        states=data.states,
        actions=data.actions,
        rewards=data.rewards,
        next_states=data.next_states,
        truncated=np.arange(len(data)) % 40 == 39,
    )
    return path


def bits(bound: float | None) -> str:
    assert bound is not None
    return struct.pack(">d", bound).hex()


def evaluated(log: Path, seed: int) -> str:
    ensemble = hambo.Ensemble(members=3, hidden=[16, 16], max_steps=200)
    model = hambo.fit(hambo.Dataset.open(log), ensemble, seed=seed)
    adversary = hambo.Adversary(hidden=[16], batch_size=64, episodes=50, gradient_steps=20, max_rounds=2)
    variants: list[hambo.VariantName] = ["CA", "DA1", "DAinf", "DS"]
    found = hambo.evaluate(model, POLICY, horizon=10, variants=variants, episodes=200, adversary=adversary, seed=seed)
    return bits(found.lower_bound)


@pytest.fixture(scope="module")
def from_python(log: Path) -> str:
    return evaluated(log, SEED)


def from_command(command: list[str], log: Path) -> str:
    words = ["evaluate", str(log), "--policy", str(POLICY), "--horizon", "10", "--seed", str(SEED), "--json", "-"]
    for setting in SETTINGS.split():
        words += ["--set", setting]
    found = subprocess.run([*command, *words], cwd=log.parent, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    return bits(json.loads(found.stdout)["lower_bound"])


def test_the_command_of_the_package_finds_the_same(log: Path, from_python: str) -> None:
    assert from_command([sys.executable, "-m", "hambo"], log) == from_python


def test_the_program_finds_the_same(log: Path, from_python: str) -> None:
    program = os.environ.get("HAMBO_COMMAND")
    if not program:
        pytest.skip("HAMBO_COMMAND does not name the program; `just python` sets it")
    assert from_command([program], log) == from_python


def test_rust_finds_the_same(log: Path, from_python: str) -> None:
    program = os.environ.get("HAMBO_ONE_BOUND")
    if not program:
        pytest.skip("HAMBO_ONE_BOUND does not name the example `one_bound`; `just python` sets it")
    found = subprocess.run([program, str(log), str(POLICY), str(SEED)], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == from_python


def test_another_seed_finds_another_bound(log: Path, from_python: str) -> None:
    assert evaluated(log, SEED + 1) != from_python
