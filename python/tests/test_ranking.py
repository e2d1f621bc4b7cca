"""Rankings are kept, drawn and reported."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp

from .conftest import QUICK, Array, still


@pytest.fixture(scope="module")
def ranking(model: hambo.Model) -> hambo.Ranking:
    return hambo.rank(model, {"<still>": still, "good": SwingUp()}, **QUICK)


def test_a_saved_ranking_is_loaded(ranking: hambo.Ranking, tmp_path: Path) -> None:
    ranking.save(tmp_path / "ranking.json")
    again = hambo.Ranking.load(tmp_path / "ranking.json")
    assert again == ranking and list(again) == list(ranking) and again.best == ranking.best


def test_a_plot_has_a_row_per_policy_with_its_verdict(ranking: hambo.Ranking) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    axes = ranking.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"{name}\nINCONCLUSIVE" for name in ranking]
    assert axes.get_title().startswith(f"highest bound: {ranking.best}, INCONCLUSIVE")
    drawn = {round(float(np.ravel(line.get_xdata())[0]), 6) for line in axes.get_lines()}
    for found in ranking.values():
        assert found.lower_bound is not None and found.second_opinion is not None
        assert {round(found.lower_bound, 6), round(found.second_opinion.mean, 6)} <= drawn


def test_a_report_stands_alone_and_holds_every_doubt_of_every_policy(ranking: hambo.Ranking, tmp_path: Path) -> None:
    ranking.report(tmp_path / "ranking.html", title="Checkpoints & more")
    page = (tmp_path / "ranking.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "<title>Checkpoints &amp; more: " in page
    assert ">&lt;still&gt;</h2>" in page and "<still>" not in page
    assert "http" not in page.replace("http://www.w3.org/", "") and "src=" not in page
    assert page.count("observed initial states") == 2


def test_bounds_share_delta_unless_they_are_to_stand_alone(model: hambo.Model) -> None:
    policies: dict[str, Any] = {"still": still, "good": SwingUp()}
    options = {**QUICK, "variants": ["worlds"]}
    shared = hambo.rank(model, policies, delta=0.1, **options)
    alone = hambo.rank(model, policies, delta=0.1, separate=True, **options)
    assert [found.delta for found in shared.values()] == [0.05, 0.05]
    assert [found.delta for found in alone.values()] == [0.1, 0.1]
    for name in policies:
        below, above = shared[name].lower_bound, alone[name].lower_bound
        assert below is not None and above is not None and below < above
    first, last = list(shared)
    chance = shared.beats_next[first]
    assert chance is not None and 0 <= chance <= 1 and shared.beats_next[last] is None
    tail, estimate = shared.worst_tenth[first], shared[first].variants["worlds"].estimate.mean
    assert tail is not None and tail < estimate
    share, regret = shared.among_first[1]
    assert 0 <= share <= 1 and regret >= 0
    assert {"beats_next", "worst_tenth"} <= set(shared.to_frame().columns)


def test_policies_that_are_worse_in_every_world_are_not_evaluated(model: hambo.Model) -> None:
    # A push that only costs.
    policies = {f"push {by}": partial(pushing, by) for by in range(10)}
    options = {**QUICK, "variants": ["worlds"], "reward": "-(action_0^2)"}
    found = hambo.rank(model, policies, **options)
    assert found.best == "push 0" and set(found.stopped) == set(policies) - {"push 0"}
    assert set(found.stopped.values()) == {"push 0"}
    assert found["push 0"].delta == 0.05 / 10
    assert hambo.Ranking.from_json(found.to_json()).stopped == found.stopped
    assert not hambo.rank(model, policies, evaluate_all=True, **options).stopped


def pushing(by: int, states: Array) -> Array:
    return np.full((len(states), 1), 0.2 * by, dtype=np.float32)
