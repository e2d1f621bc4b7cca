"""Work on a real Ray cluster of this machine."""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp, simulate

# With a token of its own, for which Ray would otherwise write a file to the home folder. It looks when it is imported.
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
ray = pytest.importorskip("ray")

SMALL = hambo.Ensemble(hidden=[16], members=4, max_steps=100, learn_reward=False)
TASK: dict[str, Any] = {"horizon": 20, "reward": "pendulum", "state_bounds": "pendulum", "episodes": 100}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def data() -> hambo.Dataset:
    parts = [simulate("pendulum", SwingUp.weak(), episodes=12, horizon=20, seed=seed) for seed in (0, 1)]
    return hambo.Dataset.concat(parts, sources=["monday", "tuesday"])


@pytest.fixture(scope="module")
def model(data: hambo.Dataset) -> hambo.Model:
    return hambo.fit(data, SMALL, progress=False)


def policies(count: int) -> dict[str, SwingUp]:
    rng = np.random.default_rng(0)
    usual: dict[str, Any] = {name: value for name, value in vars(SwingUp()).items() if isinstance(value, float)}
    found = {}
    for number in range(count):
        found[f"p{number}"] = SwingUp(**{name: value * rng.uniform(0.2, 1.8) for name, value in usual.items()})
    return found


def test_a_ranking_on_a_cluster_is_the_same(cluster: None, model: hambo.Model) -> None:
    here = hambo.rank(model, policies(12), **TASK, progress=False)
    events: list[hambo.Progress] = []
    there = hambo.rank(model, policies(12), **TASK, on="ray", progress=events.append)
    assert dict(here) == dict(there)
    assert list(here) == list(there)
    assert here.stopped == there.stopped
    assert (events[-1].step, events[-1].of) == (len(there), len(there))


def test_an_evaluation_a_backtest_and_fits_on_a_cluster_are_the_same(
    cluster: None, data: hambo.Dataset, model: hambo.Model, tmp_path: Path
) -> None:
    there = hambo.evaluate(model, SwingUp(), **TASK, on="ray", progress=False)
    assert there == hambo.evaluate(model, SwingUp(), **TASK, progress=False)
    task: dict[str, Any] = {"horizon": 20, "reward": "pendulum", "progress": False}
    assert hambo.backtest(data, SMALL, **task, on="ray") == hambo.backtest(data, SMALL, **task)
    models = hambo.fit_many({"a": data}, SMALL, seeds=[0, 1], on="ray", progress=False)
    assert list(models) == [("a", 0), ("a", 1)]
    states, actions = data.states[:5], data.actions[:5]
    for (_, seed), found in models.items():
        alone = hambo.fit(data, SMALL, seed=seed, progress=False)
        np.testing.assert_array_equal(found.predict(states, actions).mean, alone.predict(states, actions).mean)


def test_what_a_policy_raises_is_its_own(cluster: None, model: hambo.Model) -> None:
    def broken(states: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("no actions today")

    with pytest.raises(ZeroDivisionError, match="no actions today"):
        hambo.rank(model, {"good": SwingUp(), "broken": broken}, **TASK, on="ray", progress=False)


def test_ctrl_c_reaches_all_tasks(cluster: None, model: hambo.Model) -> None:
    def begin() -> None:
        time.sleep(3.0)
        os.kill(os.getpid(), signal.SIGINT)

    begun = time.monotonic()
    threading.Thread(target=begin).start()
    with pytest.raises(KeyboardInterrupt):
        hambo.rank(model, policies(4), **{**TASK, "episodes": 1_000_000}, on="ray", progress=False)
    assert time.monotonic() - begun < 30
    # The cores are free again.
    hambo.evaluate(model, SwingUp(), **TASK, on="ray", progress=False)


def test_rows_of_ray_data_are_read_batch_by_batch(cluster: None, data: hambo.Dataset) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("ray.data")
    columns = {"reward": data.rewards, "action": data.actions[:, 0], "episode": np.repeat(np.arange(24), 20)}
    columns |= {f"obs_{number}": data.states[:, number] for number in range(3)}
    columns |= {f"next_obs_{number}": data.next_states[:, number] for number in range(3)}
    table = pyarrow.table(columns)
    rows = ray.data.from_arrow([table[:200], table[200:]])
    assert hambo.Dataset.from_arrow(rows).fingerprint == hambo.Dataset.from_arrow(table).fingerprint
    with pytest.raises(TypeError, match="no column of a log"):
        hambo.Dataset.from_arrow(table, rewards="reward")  # type: ignore[call-arg]


def test_a_cluster_is_named(model: hambo.Model) -> None:
    with pytest.raises(hambo.errors.SettingError, match="address of a Ray cluster"):
        hambo.evaluate(model, SwingUp(), **TASK, on="")
