"""Tables for pandas."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

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


def walk() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "episode": np.arange(60) // 20,
        "x": np.cumsum(rng.normal(size=60)),
        "u": rng.normal(size=60),
        "reward": rng.normal(size=60),
    }


def test_delta_tables_come_through_polars_and_duckdb(tmp_path: Path) -> None:
    polars, deltalake = pytest.importorskip("polars"), pytest.importorskip("deltalake")
    duckdb, folder = pytest.importorskip("duckdb"), str(tmp_path / "logs")
    polars.DataFrame(walk()).write_delta(folder)
    mapped: dict[str, Any] = {"state": "x", "action": "u", "episode": "episode"}
    data = hambo.Dataset.from_arrow(polars.read_delta(folder), **mapped)
    logs = deltalake.DeltaTable(folder).to_pyarrow_table()
    assert len(logs) == 60 and len(data) == 57
    assert hambo.Dataset.from_arrow(duckdb.sql("from logs"), **mapped) == data


def test_iceberg_tables_come_through_polars_and_duckdb(tmp_path: Path) -> None:
    polars, sql = pytest.importorskip("polars"), pytest.importorskip("pyiceberg.catalog.sql")
    pytest.importorskip("duckdb")
    catalog = sql.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/logs")
    catalog.create_namespace("plant")
    logs = polars.DataFrame(walk()).to_arrow()
    table = catalog.create_table("plant.logs", schema=logs.schema)
    table.append(logs)
    mapped: dict[str, Any] = {"state": "x", "action": "u", "episode": "episode"}
    data = hambo.Dataset.from_arrow(polars.scan_iceberg(table).collect(), **mapped)
    assert len(data) == 57
    assert hambo.Dataset.from_arrow(table.scan().to_duckdb("logs").sql("from logs"), **mapped) == data
