"""Which columns of a table hold what, and tables that other libraries hold."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict

from .errors import SettingError

__all__ = ["ArrowBatches", "ArrowStream", "ColumnNames", "arrow_stream", "mapping_of"]


class ArrowStream(Protocol):
    """Anything that gives its rows as an Arrow stream: Polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with an Arrow C stream."""


class ArrowBatches(Protocol):
    """Anything that gives its rows as batches of pyarrow: Ray Data."""

    @property
    def iter_batches(self) -> Callable[..., Any]:
        """A method that returns them one after the other."""


class ColumnNames(TypedDict, total=False):
    """Which columns of a table hold what, see `Dataset.open`."""

    state: str | Sequence[str]
    action: str | Sequence[str]
    reward: str | None
    next_state: str | Sequence[str]
    terminated: str | None
    truncated: str | None
    episode: str | Sequence[str]
    step: str | None
    cut: Literal["hour", "day", "week"] | None
    exogenous: str | Sequence[str]
    missing: Literal["split", "refuse"]
    source_column: str | None
    probability: str | None
    log_probability: str | None
    discrete_actions: int | Sequence[int] | None


def mapping_of(columns: Mapping[str, Any]) -> str:
    """The same for the native library."""
    unknown = sorted(set(columns) - set(ColumnNames.__annotations__))
    if unknown:
        raise TypeError(f"{unknown[0]!r} is no column of a log; see Dataset.open for those that there are")
    document = {"missing": "split", **columns}
    document["source"] = document.pop("source_column", None)
    for key in ("state", "action", "next_state", "episode", "exogenous"):
        names = document.get(key, ())
        document[key] = [names] if isinstance(names, str) else list(names)
    return json.dumps(document)


def arrow_stream(table: Any) -> Any:
    """What hands over batches of a table, without a copy of it as a whole."""
    if hasattr(table, "__arrow_c_stream__"):
        return table
    if hasattr(table, "iter_batches"):
        return _of_ray_data(table)
    raise SettingError(
        f"a `{type(table).__name__}` has no `__arrow_c_stream__`; give a table of Polars, pyarrow, DuckDB, Ray Data or "
        "another library that speaks Arrow"
    )


def _of_ray_data(table: Any) -> Any:
    import pyarrow

    batches = iter(table.iter_batches(batch_size=None, batch_format="pyarrow"))
    first = next(batches, None)
    if first is None:
        raise SettingError("the dataset of Ray Data has no rows")
    rest = (batch.cast(first.schema) for batch in batches)
    blocks = (block for table in itertools.chain([first], rest) for block in table.to_batches())
    return pyarrow.RecordBatchReader.from_batches(first.schema, blocks)
