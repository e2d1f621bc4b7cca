"""Minari datasets: by id or folder, which the native library reads, or as objects."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ._dataset import Dataset
from ._gymnasium import check_observations
from .errors import DataError, SettingError

__all__ = ["from_minari"]


def from_minari(source: Any, discrete_actions: int | None) -> Dataset:
    """All episodes that it has."""
    if isinstance(source, (str, os.PathLike)):
        choices = _stored_choices(source) if discrete_actions is None else discrete_actions
        return Dataset.open(source, discrete_actions=choices)
    if not hasattr(source, "iterate_episodes"):
        raise SettingError(f"a `{type(source).__name__}` is no Minari dataset; give its id, its folder or the object")
    space = getattr(source, "action_space", None) or getattr(getattr(source, "spec", None), "action_space", None)
    first_choice = 0
    if discrete_actions is None and type(space).__name__ == "Discrete":
        discrete_actions, first_choice = int(space.n), int(getattr(space, "start", 0))  # type: ignore[union-attr]
    observations = getattr(source, "observation_space", None)
    if observations is not None:
        check_observations(observations)
    parts = [_rows(number, episode) for number, episode in enumerate(source.iterate_episodes())]
    if not parts:
        raise DataError("the Minari dataset has no episodes")
    columns: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    columns["actions"] = columns["actions"] - first_choice if first_choice else columns["actions"]
    return Dataset.from_arrays(**columns, discrete_actions=discrete_actions)


def _rows(number: int, episode: Any) -> dict[str, Any]:
    observations = np.asarray(episode.observations)
    if observations.dtype == object or isinstance(episode.observations, (dict, tuple)):
        raise DataError("observations of several parts cannot be used; flatten them first")
    observations = observations.reshape(len(observations), -1)
    rewards = np.asarray(episode.rewards)
    return {
        "states": observations[:-1],
        "actions": np.asarray(episode.actions),
        "rewards": rewards,
        "next_states": observations[1:],
        "terminated": np.asarray(episode.terminations),
        "truncated": np.asarray(episode.truncations),
        "episode": np.full(len(rewards), number),
    }


def _stored_choices(source: str | os.PathLike[str]) -> int | None:
    """How many choices the stored action space has; None if it is not discrete, or is not told."""
    root = os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets"
    for folder in (Path(source), Path(root) / source):
        path = folder / "data" / "metadata.json"
        if not path.is_file():
            continue
        try:
            space = json.loads(path.read_text(encoding="utf-8")).get("action_space")
            space = json.loads(space) if isinstance(space, str) else space
        except ValueError:
            return None
        if not isinstance(space, dict) or space.get("type") != "Discrete" or space.get("start", 0) != 0:
            return None
        return int(space["n"])
    return None
