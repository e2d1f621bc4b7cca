"""Replay buffers of Stable-Baselines3, recognised by what they hold."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import numpy.typing as npt

from ._checks import given_as
from ._dataset import Dataset
from ._gymnasium import check_observations, choices_of
from .errors import DataError, SettingError

__all__ = ["from_replay_buffer"]

_log = logging.getLogger("hambo")


def from_replay_buffer(given: Any, scaled_actions: bool) -> Dataset:
    """The episodes in a buffer, environment after environment."""
    buffer = getattr(given, "replay_buffer", given)
    _check(buffer)
    nothing = "the replay buffer holds no episode whose beginning is known; collect more, or enlarge it"
    if buffer.pos == 0 and not buffer.full:
        raise DataError(nothing)
    order = np.arange(buffer.pos)
    if buffer.full:
        order = np.concatenate([np.arange(buffer.pos, buffer.buffer_size), order])
    columns: dict[str, list[npt.NDArray[Any]]] = {}
    for env in range(buffer.n_envs):
        found = _of_environment(buffer, order, env)
        for name, column in found.items():
            columns.setdefault(name, []).append(column)
    whole = {name: np.concatenate(parts) for name, parts in columns.items()}
    if len(whole["rewards"]) == 0:
        raise DataError(nothing)
    choices = choices_of(buffer.action_space)
    actions = whole["actions"]
    if choices is None and scaled_actions:
        actions = _unscaled(actions, buffer.action_space)
    return Dataset.from_arrays(
        whole["states"],
        actions if choices is None else actions - np.asarray(getattr(buffer.action_space, "start", 0)).reshape(-1),
        whole["rewards"],
        whole["next_states"],
        terminated=whole["terminated"],
        truncated=whole["truncated"],
        discrete_actions=choices,
    )


def _check(buffer: Any) -> None:
    if buffer is None or not all(hasattr(buffer, name) for name in ("observations", "dones", "pos", "full")):
        raise SettingError(
            f"{given_as(buffer)} is no replay buffer of Stable-Baselines3; give one, or an algorithm that has one"
        )
    if isinstance(buffer.observations, dict):
        raise SettingError("the buffer's observations are a dictionary; flatten them into one box before collecting")
    if getattr(buffer, "optimize_memory_usage", False):
        raise SettingError(
            "with `optimize_memory_usage` the buffer does not keep the last observation of an episode; collect without "
            "it"
        )
    check_observations(buffer.observation_space)
    if not getattr(buffer, "handle_timeout_termination", True):
        _log.warning(
            "the buffer was made with handle_timeout_termination=False: every end counts as a termination, time "
            "limits as well"
        )


def _of_environment(buffer: Any, order: npt.NDArray[np.int64], env: int) -> dict[str, npt.NDArray[Any]]:
    rows = len(order)
    states = np.asarray(buffer.observations[order, env], dtype=np.float32).reshape(rows, -1)
    next_states = np.asarray(buffer.next_observations[order, env], dtype=np.float32).reshape(rows, -1)
    done = buffer.dones[order, env].astype(bool)
    timeout = buffer.timeouts[order, env].astype(bool)
    # A new call of `learn` begins a new episode without a word, and the end of the buffer cuts the last one off.
    goes_on = np.append((next_states[:-1] == states[1:]).all(axis=1), False)
    cut = ~done & ~goes_on
    first = 0
    if buffer.full:
        ends = np.flatnonzero(done | cut)
        first = int(ends[0]) + 1
    columns = {
        "states": states,
        "next_states": next_states,
        "actions": buffer.actions[order, env].reshape(rows, -1),
        "rewards": buffer.rewards[order, env],
        "terminated": done & ~timeout,
        "truncated": cut | (done & timeout),
    }
    return {name: column[first:] for name, column in columns.items()}


def _unscaled(actions: npt.NDArray[Any], space: Any) -> npt.NDArray[Any]:
    low, high = (np.asarray(limit, dtype=np.float32).reshape(-1) for limit in (space.low, space.high))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return actions
    unscaled: npt.NDArray[Any] = low + 0.5 * (actions + 1.0) * (high - low)
    return unscaled
