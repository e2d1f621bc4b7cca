"""Dictionaries of arrays as D4RL has them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from ._dataset import Dataset
from .errors import DataError

__all__ = ["from_d4rl"]


def from_d4rl(source: Mapping[str, npt.ArrayLike] | str | os.PathLike[str], columns: dict[str, Any]) -> Dataset:
    """Of a dictionary, or of the file that holds one."""
    if isinstance(source, (str, os.PathLike)):
        return Dataset.open(source, **columns)
    missing = [name for name in ("observations", "actions", "rewards") if name not in source]
    if missing:
        found = ", ".join(sorted(map(str, source)))
        raise DataError(f"the dictionary has no `{missing[0]}`; its keys are {found}")
    return Dataset.from_arrays(
        source["observations"],
        source["actions"],
        source["rewards"],
        source.get("next_observations"),
        terminated=source.get("terminals"),
        truncated=source.get("timeouts"),
        **columns,
    )
