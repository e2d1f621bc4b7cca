"""Observations of several parts, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import DataError

__all__ = ["flattened"]

Named = tuple[npt.NDArray[Any], list[str]]
"""Rows ``[steps, width]``, and what their columns are called."""


def flattened(parts: Any, name: str) -> Named:
    """Arrays with one row per step, in dictionaries and tuples of any depth. Keys are in order, as in Gymnasium."""
    if isinstance(parts, Mapping):
        return _side_by_side([flattened(parts[key], f"{name}.{key}") for key in sorted(parts)], name)
    if isinstance(parts, tuple):
        return _side_by_side([flattened(part, f"{name}.{index}") for index, part in enumerate(parts)], name)
    array = np.asarray(parts)
    if array.dtype.kind not in "fiub":
        raise DataError(f"`{name}` holds {array.dtype}, not numbers; leave it out")
    if array.ndim > 2:
        shape = " x ".join(str(size) for size in array.shape[1:])
        raise DataError(
            f"`{name}` holds arrays of {shape}, such as images, which no model here can predict; leave it out, or give "
            "features of it"
        )
    rows = array.reshape(len(array), -1)
    return rows, [name] if rows.shape[1] == 1 else [f"{name}_{column}" for column in range(rows.shape[1])]


def _side_by_side(parts: list[Named], name: str) -> Named:
    if not parts:
        raise DataError(f"`{name}` has no parts")
    return np.concatenate([rows for rows, _ in parts], axis=1), [column for _, names in parts for column in names]
