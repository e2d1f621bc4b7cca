"""How much work is done: presets of the settings, over which settings that are given win."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, TypeVar

from ._settings import Adversary, Ensemble, GaussianProcess
from .errors import SettingError

__all__ = ["Effort", "with_effort"]

Effort = Literal["quick", "standard", "thorough"]
Settings = TypeVar("Settings", Ensemble, GaussianProcess, Adversary)

_CHANGES: dict[type, dict[str, dict[str, Any]]] = {
    # There are always ten networks: with fewer worlds the limit over them says less.
    Ensemble: {
        "quick": {"hidden": (64, 64), "max_steps": 1_000},
        "thorough": {"max_steps": 25_000, "patience": 40},
    },
    GaussianProcess: {
        "quick": {"starts": 1, "likelihood_rows": 200},
        "thorough": {"starts": 8, "likelihood_rows": 1_000},
    },
    Adversary: {
        "quick": {"hidden": (64, 64), "batch_size": 256, "episodes": 200, "gradient_steps": 200, "max_rounds": 10},
    },
}
ROLLOUTS: dict[str, dict[str, int]] = {
    "quick": {"episodes": 1_000, "attempts": 1, "cost_episodes": 50},
    "standard": {"episodes": 2_000, "attempts": 1, "cost_episodes": 200},
    "thorough": {"episodes": 20_000, "attempts": 3, "cost_episodes": 200},
}
"""What `evaluate` plays."""

LABELS = {
    "quick": "quick effort: fewer steps and episodes, smaller networks; "
    "a first look, whose bound cannot be compared with those of the defaults",
    "thorough": "thorough effort",
}
"""What a result says of it."""


def checked_effort(effort: str) -> str:
    """One of the three."""
    if effort not in ROLLOUTS:
        raise SettingError(f"`effort` is {effort!r}; expected 'quick', 'standard' or 'thorough'")
    return effort


def with_effort(settings: Settings, effort: str) -> Settings:
    """The settings with what a preset changes, except where somebody gave a value."""
    changes = _CHANGES[type(settings)].get(effort, {})
    return dataclasses.replace(settings, **{name: changes[name] for name in changes if name not in settings._given})


def rollouts(effort: str, **given: int | None) -> dict[str, int]:
    """What is played, where nobody gave a value."""
    return {name: usual if given[name] is None else given[name] for name, usual in ROLLOUTS[effort].items()}  # type: ignore[misc]


def weaker_of(*efforts: str | None) -> str | None:
    """What a result is labelled with: a quick part makes all of it quick, and all of them make it thorough."""
    if "quick" in efforts:
        return "quick"
    return "thorough" if all(effort == "thorough" for effort in efforts) else None
