"""Presets of effort, over which settings that are given win."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest

import hambo
from hambo._effort import ROLLOUTS, with_effort

from .conftest import TINY, still


def test_given_settings_win_even_if_they_are_the_default() -> None:
    quick = with_effort(hambo.Ensemble(), "quick")
    assert (list(quick.hidden), quick.max_steps, quick.members) == ([64, 64], 1000, 10)
    kept = with_effort(hambo.Ensemble(max_steps=5_000, learn_reward=False), "quick")
    assert (list(kept.hidden), kept.max_steps, kept.learn_reward) == ([64, 64], 5_000, False)
    for again in (copy.deepcopy(hambo.Ensemble(max_steps=7)), pickle.loads(pickle.dumps(hambo.Ensemble(max_steps=7)))):
        assert with_effort(again, "quick").max_steps == 7
    assert with_effort(hambo.Ensemble(), "standard") == hambo.Ensemble()
    assert with_effort(hambo.GaussianProcess(), "thorough").starts > hambo.GaussianProcess().starts


@pytest.mark.parametrize("settings", [hambo.Ensemble(), hambo.GaussianProcess(), hambo.Adversary()])
def test_settings_are_still_plain(settings: Any) -> None:
    assert dataclasses.replace(settings) == settings and hash(settings) == hash(dataclasses.replace(settings))
    assert "_given" not in repr(settings) and "_given" not in settings._document()


def test_effort_sets_what_is_played(model: hambo.Model) -> None:
    quick = hambo.evaluate(model, still, horizon=3, effort="quick")
    assert quick.settings["episodes"] == 1_000 and quick.settings["adversary"]["hidden"] == [64, 64]
    given = hambo.evaluate(model, still, horizon=3, effort="quick", episodes=70, adversary=hambo.Adversary(hidden=[9]))
    assert given.settings["episodes"] == 70 and given.settings["adversary"]["hidden"] == [9]
    assert hambo.evaluate(model, still, horizon=3).settings["episodes"] == 2_000


def test_adversaries_that_decide_are_not_made_weaker(model: hambo.Model) -> None:
    # A smaller adversary does less harm: the bound would be higher.
    found = hambo.evaluate(model, still, horizon=3, effort="quick", variants=["DAinf", "DS"])
    assert found.settings["adversary"]["hidden"] == [256, 256] and found.settings["episodes"] == 1_000


def test_quick_means_the_same_to_the_command() -> None:
    program = os.environ.get("HAMBO_COMMAND")
    if program is None:
        pytest.skip("HAMBO_COMMAND does not name the program; `just python` sets it")
    tomllib = pytest.importorskip("tomllib")
    words = [program, "fit", "logs.csv", "--out", "model", "--quick", "--show-config"]
    config = tomllib.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    quick = with_effort(hambo.Ensemble(), "quick")
    assert config["model"]["ensemble"]["hidden"] == list(quick.hidden)
    assert config["model"]["ensemble"]["max_steps"] == quick.max_steps
    played = ROLLOUTS["quick"]
    assert {name: config["evaluation"][name] for name in played} == played


def test_a_quick_result_says_so(model: hambo.Model, data: hambo.Dataset, tmp_path: Path) -> None:
    options: dict[str, Any] = {"horizon": 3, "episodes": 60}
    label = "quick effort: "
    usual = hambo.evaluate(model, still, **options)
    assert usual.effort is None and label not in repr(usual)
    found = hambo.evaluate(model, still, effort="quick", **options)
    assert found.effort == "quick" and label in repr(found) and label in found._repr_html_()
    assert label in repr(hambo.Evaluation.from_json(found.to_json()))
    for result, is_said in [(usual, False), (found, True)]:
        result.report(tmp_path / "page.html")
        assert ("quick evaluation" in (tmp_path / "page.html").read_text(encoding="utf-8")) == is_said
    assert repr(hambo.rank(model, {"a": still, "b": still}, effort="quick", **options)).count(label) == 1
    # A quick model makes every bound on it a quick one, after pickling as well.
    quick = hambo.fit(data, TINY, effort="quick")
    for fitted in (quick, pickle.loads(pickle.dumps(quick))):
        assert fitted.effort == "quick"
        assert hambo.evaluate(fitted, still, effort="thorough", **options).effort == "quick"
