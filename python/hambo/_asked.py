"""What an evaluation was asked: the policy and the task in words, kept with its result."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._settings import Fixed

__all__ = ["in_words", "of_command", "starts_in_words"]


def in_words(part: Any) -> str:
    """A text or a path as it is, and anything else by its qualified name."""
    if isinstance(part, str | os.PathLike):
        return os.fspath(part)
    if isinstance(part, functools.partial):
        return f"partial of {in_words(part.func)}"
    named = part if hasattr(part, "__qualname__") else type(part)
    module = getattr(named, "__module__", None)
    prefix = "" if module in (None, "__main__", "builtins") else f"{module}."
    return f"{prefix}{named.__qualname__}"


def starts_in_words(given: Any) -> str:
    """Where episodes start."""
    if given is None:
        return "those of the data"
    if callable(given):
        return in_words(given)
    kind, states = ("fixed", given.states) if isinstance(given, Fixed) else ("sample", given)
    return f"{len(np.asarray(states))} states ({kind})"


def of_command(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same from a result that the ``hambo`` command wrote, with its settings."""
    task = (document.get("config") or {}).get("task", {})
    asked = {key: task.get(key) for key in ("reward", "termination", "state_bounds", "reward_bounds", "initial_states")}
    policy = document.get("policy")
    return {"policy": None if policy is None else policy["file"], **asked}
