"""Tables for pandas, which is imported only here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from .errors import SettingError

__all__ = ["frame"]


def frame(columns: Mapping[str, Any] | Sequence[Mapping[str, Any]], index: Sequence[str] | None = None) -> Any:
    """A ``pandas.DataFrame`` of columns, or of rows."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise SettingError("`to_frame` needs pandas: `pip install pandas`") from None
    return pandas.DataFrame(columns, index=index)
