"""Minari datasets: by id or folder, which the native library reads, or as objects."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._columns import Choices
from ._dataset import Dataset
from ._flatten import flattened
from ._gymnasium import check_observations, choices_of
from .errors import DataError, SettingError

__all__ = ["from_minari"]


def from_minari(source: Any, discrete_actions: Choices | None) -> Dataset:
    """All episodes that it has."""
    if isinstance(source, (str, os.PathLike)):
        return Dataset.open(source, discrete_actions=discrete_actions)
    if not hasattr(source, "iterate_episodes"):
        raise SettingError(f"a `{type(source).__name__}` is no Minari dataset; give its id, its folder or the object")
    space = getattr(source, "action_space", None) or getattr(getattr(source, "spec", None), "action_space", None)
    first_choice: Any = 0
    if discrete_actions is None:
        discrete_actions = choices_of(space)
        if discrete_actions is not None:
            first_choice = np.asarray(getattr(space, "start", 0)).reshape(-1)
    observations = getattr(source, "observation_space", None)
    if observations is not None and not hasattr(observations, "spaces"):
        check_observations(observations)
    parts = [_rows(number, episode) for number, episode in enumerate(source.iterate_episodes())]
    if not parts:
        raise DataError("the Minari dataset has no episodes")
    names = {part.pop("names") for part in parts}
    columns: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if np.any(first_choice):
        columns["actions"] = columns["actions"].reshape(len(columns["actions"]), -1) - first_choice
    state_names = next(iter(names))
    if len(names) > 1:
        raise DataError("episodes have different observations; give those of one kind")
    return Dataset.from_arrays(
        **columns, discrete_actions=discrete_actions, state_names=None if state_names is None else list(state_names)
    )


def _rows(number: int, episode: Any) -> dict[str, Any]:
    observations, names = flattened(episode.observations, "observation")
    actions, _ = flattened(episode.actions, "action")
    rewards = np.asarray(episode.rewards)
    is_one_box = not isinstance(episode.observations, (dict, tuple))
    return {
        "names": None if is_one_box else tuple(name.removeprefix("observation.") for name in names),
        "states": observations[:-1],
        "actions": actions,
        "rewards": rewards,
        "next_states": observations[1:],
        "terminated": np.asarray(episode.terminations),
        "truncated": np.asarray(episode.truncations),
        "episode": np.full(len(rewards), number),
    }
