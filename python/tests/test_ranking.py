"""Rankings are kept, drawn and reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hambo
from hambo.tasks import SwingUp

from .conftest import QUICK, still


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
