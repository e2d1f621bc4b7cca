"""Arrays with one row per step, before they are a dataset."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native
from ._checks import checked_count, checked_names
from ._functions import Array
from .errors import DataError, SettingError

__all__ = ["Choices", "Columns", "Names", "one_hot", "sizes_of", "sources_of_episodes"]

Choices: TypeAlias = "int | Sequence[int]"
"""How many choices an action has, or each of its columns; 0 for a column that is a number."""

Names = tuple[list[str], list[str]]
"""Of the states and of the actions."""


class Columns:
    """Arrays with one row per step, checked for what NumPy can tell."""

    def __init__(
        self,
        states: npt.ArrayLike,
        actions: npt.ArrayLike,
        rewards: npt.ArrayLike,
        next_states: npt.ArrayLike | None,
        terminated: npt.ArrayLike | None,
        truncated: npt.ArrayLike | None,
        episode: npt.ArrayLike | None,
    ) -> None:
        self.states = _block(states, "states")
        self.given_actions = np.asarray(actions)
        self.actions = _block(actions, "actions")
        self.rewards = _one_each(rewards, "rewards")
        self.next_states = None if next_states is None else _block(next_states, "next_states")
        self.terminated = None if terminated is None else _flags(terminated, "terminated")
        self.truncated = None if truncated is None else _flags(truncated, "truncated")
        self.episode = None if episode is None else np.asarray(episode).reshape(-1)
        if terminated is None and truncated is None and episode is None:
            raise DataError("nothing says where episodes end; give `terminated`, `truncated` or `episode`")
        columns = {
            "states": self.states,
            "actions": self.actions,
            "next_states": self.next_states,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "episode": self.episode,
        }
        for name, column in columns.items():
            if column is not None and len(column) != len(self.rewards):
                raise DataError(
                    f"`{name}` has {len(column)} rows, the rewards have {len(self.rewards)}; "
                    "every step needs one (drop a final observation that has no action)"
                )

    def names(
        self,
        state_names: Sequence[str] | None,
        action_names: Sequence[str] | None,
        discrete_actions: Choices | None,
    ) -> Names | None:
        """Names of all columns, if somebody gave any."""
        if state_names is None and action_names is None:
            return None
        return (
            _names(state_names, "state", self.states.shape[1]),
            _action_names(action_names, self.actions.shape[1], discrete_actions),
        )

    def dataset(self, names: Names | None, discrete_actions: Choices | None) -> _native.Dataset:
        """Used where they are if nothing is missing."""
        actions, choices = self.actions, discrete_actions
        if choices is not None and (names is not None or not isinstance(choices, int)):
            if names is None:
                names = self.names(None, ["action"], choices)
            # The native library would name the choices by itself.
            actions, choices = one_hot(self.given_actions, sizes_of(choices)), None
        if self.next_states is None or choices is not None:
            return self._assembled(actions, names, choices)
        columns = (self.states, actions, self.rewards, self.next_states)
        return _native.Dataset.from_marked(*columns, self.terminated, self.truncated, self._episode(), names, [])

    def _assembled(self, actions: Array, names: Names | None, discrete_actions: Choices | None) -> _native.Dataset:
        """Read as a table of these columns would be."""
        mapping: dict[str, Any] = {"discrete_actions": discrete_actions}
        columns: list[tuple[str, npt.NDArray[Any]]] = []
        if names is None:
            columns.append(("states", self.states))
        else:
            columns += _one_by_one(self.states, names[0])
            mapping["state"] = names[0]
        if discrete_actions is not None:
            columns.append(("actions", self.given_actions.reshape(-1).astype(np.float64)))
        elif names is None:
            columns.append(("actions", actions))
        else:
            columns += _one_by_one(actions, names[1])
            mapping["action"] = names[1]
        columns.append(("rewards", self.rewards.astype(np.float64)))
        others = {
            "next_states": self.next_states,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "episode": self._episode(),
        }
        columns += [(name, column) for name, column in others.items() if column is not None]
        twice = {name for name, _ in columns if [other for other, _ in columns].count(name) > 1}
        if twice & {"rewards", *others}:
            raise SettingError(
                f"a column is named `{min(twice)}`, as one of the others is without `next_states`; give them, or name "
                "it differently"
            )
        return _native.Dataset.from_table(columns, "arrays", json.dumps(mapping))

    def _episode(self) -> npt.NDArray[np.int64] | None:
        return None if self.episode is None else np.ascontiguousarray(self.episode, dtype=np.int64)


def sizes_of(discrete_actions: Choices) -> list[int]:
    """How many choices each column of the action has; 0 for one that is a number."""
    if isinstance(discrete_actions, int):
        return [discrete_actions]
    return [checked_count(size, "discrete_actions") for size in discrete_actions]


def _action_names(given: Sequence[str] | None, width: int, discrete_actions: Choices | None) -> list[str]:
    """One name per encoded column: of each choice, or of a column, which is then numbered."""
    if discrete_actions is None:
        return _names(given, "action", width)
    sizes = sizes_of(discrete_actions)
    encoded = sum(max(size, 1) for size in sizes)
    names = ["action"] if given is None else checked_names(given, "action_names")
    if len(names) == encoded:
        return names
    if len(names) == 1 and len(sizes) > 1:
        names = [f"{names[0]}_{column}" for column in range(len(sizes))]
    if len(names) != len(sizes):
        raise SettingError(
            f"`action_names` has {len(names)} names, but there are {encoded} choices; name each of them, or each of "
            f"the {len(sizes)} columns"
        )
    of_column = [
        [name] if size == 0 else [f"{name}_{index}" for index in range(size)]
        for name, size in zip(names, sizes, strict=True)
    ]
    return [name for names in of_column for name in names]


def _names(given: Sequence[str] | None, stem: str, width: int) -> list[str]:
    if given is None:
        return [f"{stem}_{index}" for index in range(width)]
    names = checked_names(given, f"{stem}_names")
    if len(names) != width:
        raise SettingError(f"`{stem}_names` has {len(names)} names, but there are {width} columns; name each of them")
    return names


def _one_by_one(block: Array, names: list[str]) -> list[tuple[str, npt.NDArray[Any]]]:
    return [(name, np.ascontiguousarray(block[:, index], dtype=np.float64)) for index, name in enumerate(names)]


def one_hot(given: npt.NDArray[Any], sizes: Sequence[int]) -> Array:
    """A one and zeros for every choice, side by side; numbers stay what they are."""
    columns = given.reshape(len(given), -1)
    if columns.shape[1] != len(sizes):
        raise DataError(
            f"`discrete_actions` speaks of {len(sizes)} columns, but actions have {columns.shape[1]}; give a number "
            "for each, and 0 for what is no choice"
        )
    parts = []
    for numbers, size in zip(columns.T, sizes, strict=True):
        if size == 0:
            parts.append(numbers.astype(np.float32)[:, np.newaxis])
            continue
        wrong = np.flatnonzero((numbers != np.floor(numbers)) | (numbers < 0) | (numbers >= size))
        if len(wrong):
            raise DataError(
                f"row {wrong[0]}: the action is {numbers[wrong[0]]}; `discrete_actions` expects whole numbers from 0 "
                f"to {size - 1}"
            )
        parts.append(np.eye(size, dtype=np.float32)[numbers.astype(np.int64)])
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _numbers(values: npt.ArrayLike, name: str) -> Array:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise DataError(f"`{name}` holds {array.dtype}, not numbers")
    return np.require(array, dtype=np.float32, requirements=["C", "A"])


def _block(values: npt.ArrayLike, name: str) -> Array:
    array = _numbers(values, name)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise DataError(f"`{name}` has shape {array.shape}; give one row per step, [rows, width]")
    return array


def _one_each(values: npt.ArrayLike, name: str) -> Array:
    array = _numbers(values, name)
    if array.ndim != 1 and array.shape != (len(array), 1):
        raise DataError(f"`{name}` has shape {array.shape}; give one number per step, [rows]")
    return array.reshape(-1)


def _flags(values: npt.ArrayLike, name: str) -> npt.NDArray[np.bool_]:
    array = np.asarray(values).reshape(-1)
    if array.dtype.kind != "b" and not np.isin(array, (0, 1)).all():
        raise DataError(f"`{name}` holds more than true and false, or 0 and 1")
    return np.ascontiguousarray(array, dtype=bool)


def sources_of_episodes(source: npt.ArrayLike, columns: Columns, data: _native.Dataset) -> list[str]:
    """The source of every episode, from one name per row."""
    names = np.asarray(source).reshape(-1)
    if len(names) != len(columns.rewards):
        raise DataError(f"`source` has {len(names)} rows, the rewards have {len(columns.rewards)}; give one per step")
    if len(names) != data.rows:
        raise SettingError("`source` needs `next_states`; without them use `with_sources`")
    of_episodes = []
    for number, (start, end, *_) in enumerate(data.episodes):
        found = set(names[start:end].tolist())
        if len(found) > 1:
            raise DataError(f"episode {number} has the sources {', '.join(sorted(map(str, found)))}; give it one")
        of_episodes.append(str(found.pop()))
    return of_episodes
