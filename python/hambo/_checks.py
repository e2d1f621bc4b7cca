"""Arguments that make no sense, refused before any work with the argument's name."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._findings import VARIANTS
from .errors import SettingError

__all__ = [
    "checked_count",
    "checked_finite",
    "checked_folder",
    "checked_names",
    "checked_seed",
    "checked_threads",
    "checked_variants",
    "given_as",
]


def given_as(value: object) -> str:
    """What somebody gave, in short."""
    return "None" if value is None else f"a `{type(value).__name__}`"


def checked_seed(seed: object) -> int:
    """A whole number that fits into 64 bits."""
    try:
        value = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        raise SettingError(
            f"`seed` is {given_as(seed)}; give a whole number, and the same one for the same result"
        ) from None
    if not 0 <= value < 2**64:
        raise SettingError(f"`seed` is {value}; give a whole number from 0 to 2^64 - 1")
    return value


def checked_count(value: object, name: str) -> int:
    """A whole number, not negative."""
    number = _number(value, name, "a whole number, not negative")
    if not math.isfinite(number) or number < 0 or int(number) != number:
        raise SettingError(f"setting `{name}` is {value}; expected a whole number, not negative")
    return int(number)


def checked_threads(value: object) -> int | None:
    """A whole number, at least one, or nothing."""
    count = None if value is None else checked_count(value, "threads")
    if count == 0:
        raise SettingError("setting `threads` is 0; expected a whole number, at least one")
    return count


def checked_folder(value: object) -> str | None:
    """A path, or nothing."""
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise SettingError(f"`checkpoint` is {given_as(value)}; give the path of a folder")
    return os.fspath(value)


def checked_finite(value: object, name: str) -> float:
    """A finite number."""
    number = _number(value, name, "a finite number")
    if not math.isfinite(number):
        raise SettingError(f"setting `{name}` is {value}; expected a finite number")
    return number


def checked_names(values: object, name: str) -> list[str]:
    """Several names, and not a single text, whose letters would be taken for names."""
    if isinstance(values, str):
        raise SettingError(f"`{name}` is the text {values!r}; give a list: [{values!r}]")
    if not isinstance(values, Sequence | set | frozenset):
        raise SettingError(f"`{name}` is {given_as(values)}; give a list of names")
    return [str(value) for value in values]


def checked_variants(values: object) -> list[str]:
    """Names of variants as the native library writes them."""
    names = checked_names(values, "variants")
    known = {name.lower() for name in VARIANTS}
    for name in names:
        if name.lower() not in known:
            raise SettingError(f"unknown variant `{name}` in `variants`; there are {', '.join(VARIANTS)}")
    return [name.lower() for name in names]


def checked_mapping(values: object, name: str, what: str) -> Mapping[str, Any]:
    """Things by their names."""
    if not isinstance(values, Mapping):
        raise SettingError(f"`{name}` is {given_as(values)}; give {what} by name: {{'a': ..., 'b': ...}}")
    return values


def _number(value: object, name: str, expected: str) -> float:
    if isinstance(value, str):
        raise SettingError(f"setting `{name}` is the text {value!r}; expected {expected}")
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f"setting `{name}` is {given_as(value)}; expected {expected}") from None
