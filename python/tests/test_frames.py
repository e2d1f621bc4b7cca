"""Tables for pandas."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import hambo

from .conftest import QUICK, still
from .test_data import columns

pytest.importorskip("pandas")


def test_a_dataset_comes_back_from_its_table() -> None:
    pytest.importorskip("pyarrow")
    given = columns()
    given["actions"] = np.arange(12) % 3
    source = np.repeat(["day", "night", "day"], 4)
    data = hambo.Dataset.from_arrays(**given, discrete_actions=3, state_names=["x", "y"], source=source)
    table = data.to_frame()
    assert list(table.columns) == [
        *("episode", "step", "x", "y", "action_0", "action_1", "action_2", "reward", "next_x", "next_y"),
        *("terminated", "truncated", "source"),
    ]
    assert table["step"].tolist() == [0, 1, 2, 3] * 3
    again = hambo.Dataset.from_arrow(
        table, state=["x", "y"], next_state=["next_x", "next_y"], action="action", source_column="source"
    )
    assert again == data and again.state_names == ["x", "y"] and again.sources == data.sources


def test_results_and_rankings_are_tables(model: hambo.Model) -> None:
    ranking = hambo.rank(model, {"b": still, "a": still}, **QUICK)
    table = ranking.to_frame()
    assert list(table.index) == ["b", "a"] and set(table["verdict"]) == {"INCONCLUSIVE"}
    assert table.loc["a", "lower_bound"] == ranking["a"].lower_bound
    assert "few_starts" in table.loc["a", "warnings"].split(", ")
    found = ranking["a"]
    variants = found.to_frame()
    assert list(variants.index) == ["DAinf", "DS"]
    assert variants.loc["DAinf", "bound"] == found.lower_bound and np.isnan(variants.loc["DS", "bound"])
    assert variants.loc["DS", "mean"] == found.variants["DS"].estimate.mean


def test_claims_about_the_logs_are_a_table(model: hambo.Model) -> None:
    backtest = hambo.evaluate(model, still, horizon=5, episodes=60).backtest
    assert backtest is not None
    table = backtest.to_frame()
    assert len(table) == len(backtest.claims) > 0 and table["held"].tolist() == [c.held for c in backtest.claims]


def test_without_pandas_there_is_a_clear_message(data: hambo.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(hambo.errors.SettingError, match="`to_frame` needs pandas: `pip install pandas`"):
        data.to_frame()
