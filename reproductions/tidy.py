"""Tables of finished evaluations, one row each, from which a stopped run goes on."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def read_rows(table: Path) -> list[Row]:
    """No rows if there is no table yet."""
    if not table.exists():
        return []
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(table: Path, rows: list[Row], columns: list[str], order: Callable[[Row], Any]) -> None:
    """All rows, in the same order whatever finished first; the old table stays until the new one is whole."""
    unfinished = table.with_suffix(".unfinished")
    with unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=order))
    unfinished.replace(table)
