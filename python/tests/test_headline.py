"""What a result says first: the verdict, and not a bound that the verdict takes back."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import hambo

from .conftest import QUICK, still

ACCEPTED: dict[str, Any] = {
    "thresholds": hambo.Thresholds(
        weak_calibration=1.0,
        persistent_errors=1.0,
        outside_data=1.0,
        skewed_returns=1e9,
        reward_difference=1e9,
    ),
    "accept_weaker": [
        "thresholds.weak_calibration",
        "thresholds.persistent_errors",
        "thresholds.outside_data",
        "thresholds.skewed_returns",
        "thresholds.reward_difference",
        "variants",
        "max_steps",
        "hidden",
    ],
}


@pytest.fixture(scope="module")
def doubtful(model: hambo.Model) -> hambo.Evaluation:
    return hambo.evaluate(model, still, **QUICK)


def test_a_doubtful_bound_is_inconclusive_everywhere(doubtful: hambo.Evaluation) -> None:
    assert doubtful.second_opinion is not None
    expected = (
        f"INCONCLUSIVE: {doubtful.lower_bound:.6g}, {len(doubtful.warnings)} warnings, "
        f"second opinion {doubtful.second_opinion.mean:.6g}"
    )
    assert repr(doubtful).splitlines()[0] == expected
    assert doubtful._repr_html_().startswith(f"<p><strong>{expected}</strong>")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = doubtful.plot()
    assert axes.get_title() == expected
    legend = axes.get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} == {"lower bound", "second opinion"}
    assert "at least" not in repr(doubtful).splitlines()[0]


def test_accepted_doubts_are_certified_with_their_names(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, **ACCEPTED, **QUICK)
    first = repr(found).splitlines()[0]
    assert first.startswith("CERTIFIED WITH WEAKER SETTINGS (")
    assert "variants = DAinf, DS" in first and f": at least {found.lower_bound:.6g}" in first


def test_what_fails_is_in_the_headline(model: hambo.Model) -> None:
    found = hambo.evaluate(model, still, constraints={"never": "-1"}, **QUICK)
    assert repr(found).startswith("NOT CERTIFIED: ") and "constraint never -1" in repr(found).splitlines()[0]
    better = hambo.evaluate(model, still, horizon=5, episodes=60, against="logged", margin=1e6)
    assert repr(better).startswith("NOT CERTIFIED: ") and "(margin 1e+06)" in repr(better).splitlines()[0]
    neutral = hambo.evaluate(model, still, horizon=5, episodes=60, variants=["DS"])
    assert repr(neutral).startswith("NO BOUND: only neutral variants ran")


def test_a_ranking_shows_verdicts_and_second_opinions(model: hambo.Model) -> None:
    ranking = hambo.rank(model, {"one": still, "two": still}, **QUICK)
    lines = repr(ranking).splitlines()
    assert lines[0].startswith("highest bound: one, INCONCLUSIVE: ")
    header, first = lines[-3].split("  "), lines[-2]
    assert [cell.strip() for cell in header if cell] == [
        "policy",
        "verdict",
        "lower bound",
        "second opinion",
        "neutral",
        "warnings",
    ]
    opinion = ranking["one"].second_opinion
    assert opinion is not None
    assert "INCONCLUSIVE" in first and f"{opinion.mean:.6g}" in first and "weaker_setting" in first
    assert "INCONCLUSIVE" in ranking._repr_html_()


def test_without_a_threshold_programs_get_no_verdict(doubtful: hambo.Evaluation) -> None:
    # A pipeline that forgets its threshold must not deploy.
    assert doubtful.verdict() == "no_threshold"


def test_the_log_names_the_policy_and_counts_the_doubts(model: hambo.Model, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="hambo"):
        ranking = hambo.rank(model, {"first": still, "second": still}, **QUICK)
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [line.split(":")[0] for line in said] == ["first", "second"]
    # The doubts themselves are in the result only.
    for warning in ranking["first"].warnings:
        assert warning.message not in caplog.text
