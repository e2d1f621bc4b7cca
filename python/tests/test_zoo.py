"""A small part of `reproductions/zoo`: are wrong certificates more frequent than chance allows?"""

import importlib
import math
from pathlib import Path
from typing import Any

import pytest

ZOO = Path(__file__).parents[2] / "reproductions" / "zoo"
DELTA = 0.05
SYSTEMS = ["point_safety", "battery", "reactor"]
# Of the seeds that are kept for tuning.
SEEDS = range(2)


pytest.importorskip("tomllib")


@pytest.fixture
def unit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that runs one data set of one system."""
    monkeypatch.syspath_prepend(ZOO.parent)
    monkeypatch.syspath_prepend(ZOO)
    return importlib.import_module("unit")


def chance_of(wrong: int, of: int) -> float:
    """That so many certificates or more are wrong, if each is with probability delta."""
    return sum(math.comb(of, k) * DELTA**k * (1 - DELTA) ** (of - k) for k in range(wrong, of + 1))


def test_chance_is_judged_as_in_tables() -> None:
    assert chance_of(0, 24) == pytest.approx(1.0)
    assert chance_of(1, 24) == pytest.approx(1 - 0.95**24)
    assert chance_of(24, 24) == pytest.approx(0.05**24)


def test_a_wall_that_no_log_shows_is_not_certified(unit: Any) -> None:
    settings = unit.read_settings()
    settings["methods"] = {"default": {}}
    [row] = unit.run_unit("cartpole", 0, ["reckless"], settings)
    # The logs stay within 1.3 of the middle; the wall is at 2.4, and the policy drives into it.
    assert row["truth"] < -300 and row["verdict"] != "certified"
    assert "at_limits" in row["reasons"].split()


def test_wrong_certificates_are_no_more_frequent_than_promised(unit: Any) -> None:
    settings = unit.read_settings()
    settings["methods"] = {"default": {}}
    rows = [
        row for name in SYSTEMS for seed in SEEDS for row in unit.run_unit(name, seed, ["close", "further"], settings)
    ]
    certified = [row for row in rows if row["verdict"] == "certified"]
    wrong = [row for row in certified if row["bound"] > row["truth"]]
    # A gate that never opens is never wrong, and would prove nothing here.
    assert len(certified) >= len(rows) // 3
    assert chance_of(len(wrong), len(certified)) > 1e-3, wrong
