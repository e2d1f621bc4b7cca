"""The Python of the guides runs. Fits and evaluations are small ones, whatever else the text says."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hambo
from hambo import trackers
from hambo.tasks import SwingUp, simulate

from .conftest import TINY, still

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the guides take as given."""
    logs = simulate("pendulum", SwingUp.weak(), episodes=12, horizon=200)
    data = hambo.Dataset.from_arrays(
        logs.states,
        logs.actions,
        logs.rewards,
        logs.next_states,
        episode=np.repeat(np.arange(12), 200),
        state_names=["cos_theta", "sin_theta", "speed"],
    )
    options: dict[str, Any] = {"episodes": 30, "progress": False}
    learner = hambo.Learner(hidden=[8], clone_steps=20, episodes=3, gradient_steps=5, judged_episodes=3, max_rounds=1)
    opinions = hambo.BaselineSettings(members=3, hidden=[8], steps=20, episodes=20, resamples=100)

    def evaluate(model: Any, policy: Any, baselines: bool = False, **others: Any) -> hambo.Evaluation:
        given = {**options, **others, "baselines": opinions if baselines else False}
        return hambo.evaluate(model, policy, **given)

    cheap = SimpleNamespace(
        fit=partial(hambo.fit, settings=TINY, progress=False),
        evaluate=evaluate,
        baselines=partial(hambo.baselines, settings=opinions, progress=False),
        # Clusters have tests of their own.
        rank=lambda model, policies, on=None, **others: hambo.rank(model, policies, **{**options, **others}),
        learn=partial(hambo.learn, settings=learner, progress=False),
        backtest=partial(hambo.backtest, settings=TINY, progress=False),
        trackers=trackers,
        Dataset=SimpleNamespace(open=lambda _name, **_columns: data),
    )
    policies = {name: still for name in ("policy", "early", "late")}
    model = hambo.fit(data, TINY, seed=0)
    result = hambo.evaluate(model, still, horizon=20, **options)
    given: dict[str, Any] = {
        "policies": policies,
        "result": result,
        "data": data,
        "model": model,
        "training_data": data[:4],
        "names": ["a", "b"] * 6,
    }
    return {"hambo": cheap, **given, **policies}


def test_there_is_python_in_the_guides() -> None:
    assert sum(len(blocks(page)) for page in PAGES) >= 5


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_every_block_runs(page: Path, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_SILENT", "true")
    for package in re.findall(r"^(?:import|from) (\w+)", "".join(blocks(page)), re.MULTILINE):
        pytest.importorskip(package)
    for block in blocks(page):
        exec(block.replace("import hambo\n", ""), dict(names))
