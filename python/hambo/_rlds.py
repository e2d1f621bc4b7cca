"""Steps as RLDS, TensorFlow Datasets and the Open X-Embodiment collection have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._checks import given_as
from ._columns import Choices
from ._dataset import Dataset
from ._flatten import Named, flattened
from .errors import DataError

__all__ = ["from_rlds"]


def from_rlds(episodes: Iterable[Any], discrete_actions: Choices | None) -> Dataset:
    """Of every episode all steps but the last, which has an observation only."""
    parts = [_rows(number, episode) for number, episode in enumerate(episodes)]
    kept = [part for part in parts if part is not None]
    if not kept:
        raise DataError("there is no episode of two steps or more")
    names = {part.pop("names") for part in kept}
    if len(names) > 1:
        raise DataError("episodes have different observations or actions; give those of one kind")
    states, actions = next(iter(names))
    columns: dict[str, Any] = {name: np.concatenate([part[name] for part in kept]) for name in kept[0]}
    return Dataset.from_arrays(
        **columns,
        discrete_actions=discrete_actions,
        state_names=list(states),
        action_names=list(actions) if discrete_actions is None else None,
    )


def _rows(number: int, episode: Any) -> dict[str, Any] | None:
    steps = list(episode["steps"] if isinstance(episode, Mapping) else episode)
    for index, step in enumerate(steps):
        if not isinstance(step, Mapping) or "observation" not in step:
            raise DataError(
                f"episode {number}, step {index} is {given_as(step)}; RLDS steps are dictionaries with `observation`, "
                "`action`, `reward`, `is_first`, `is_last` and `is_terminal`"
            )
    if len(steps) < 2:
        return None
    flags = {name: [bool(np.asarray(step.get(name, False))) for step in steps] for name in ("is_first", "is_last")}
    if any(flags["is_first"][1:]) or any(flags["is_last"][:-1]):
        raise DataError(f"episode {number}: `is_first` or `is_last` is set in the middle; give episodes one by one")
    count = len(steps) - 1
    observations, states = _column(steps, "observation", number)
    actions, action_names = _column(steps[:-1], "action", number)
    ended = bool(np.asarray(steps[-1].get("is_terminal", False)))
    at_end = np.arange(count) == count - 1
    return {
        "names": (tuple(states), tuple(action_names)),
        "states": observations[:-1],
        "next_states": observations[1:],
        "actions": actions,
        "rewards": np.array([float(np.asarray(step.get("reward", 0.0))) for step in steps[:-1]]),
        # The last step without an end of the task is where a time limit or the log cut it off.
        "terminated": at_end & ended,
        "truncated": at_end & (not ended),
        "episode": np.full(count, number),
    }


def _column(steps: list[Any], name: str, number: int) -> Named:
    missing = [index for index, step in enumerate(steps) if name not in step]
    if missing:
        raise DataError(f"episode {number}, step {missing[0]} has no `{name}`")
    rows, names = flattened(_stacked([step[name] for step in steps]), name)
    return rows, [column.removeprefix(f"{name}.") for column in names]


def _stacked(values: list[Any]) -> Any:
    """Dictionaries of arrays, in place of arrays of dictionaries."""
    if isinstance(values[0], Mapping):
        return {key: _stacked([value[key] for value in values]) for key in values[0]}
    if isinstance(values[0], tuple):
        return tuple(_stacked([value[index] for value in values]) for index in range(len(values[0])))
    return np.stack([np.asarray(value) for value in values])
