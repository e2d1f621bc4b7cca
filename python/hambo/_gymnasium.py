"""Logs from Gymnasium environments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._checks import checked_count, checked_seed
from ._columns import Choices, sizes_of
from ._dataset import Dataset
from ._functions import Array, policy_function
from .errors import SettingError

_log = logging.getLogger("hambo")


def collect(
    env: Any,
    policy: Any = None,
    steps: int = 10_000,
    *,
    seed: int = 0,
    deterministic: bool = False,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> Dataset:
    """Run a policy in a Gymnasium environment and log what happens.

    Parameters
    ----------
    env
        An environment with one box of observations, or with discrete ones, or the id by which Gymnasium makes it.
    policy
        As for `evaluate`, without ONNX files; random actions if there is none.
    steps
        Transitions to log. The last episode is cut off there.
    seed
        Of the environment and of random actions.
    deterministic
        Ask a policy with `predict` for its best action instead of a random one.
    state_names, action_names
        Names of the columns, for expressions, messages and reports.

    Returns
    -------
    Dataset
        Discrete actions are one-hot encoded.
    """
    steps, seed = checked_count(steps, "steps"), checked_seed(seed)
    if steps < 1:
        raise SettingError(f"`steps` is {steps}; expected at least one")
    made = isinstance(env, str)
    if made:
        import gymnasium

        env = gymnasium.make(env)
    if hasattr(env, "num_envs"):
        raise SettingError(
            f"the environment is a vector of {env.num_envs}; give one of them, or collect from each and put the logs "
            "together with Dataset.concat"
        )
    check_observations(env.observation_space)
    choices = choices_of(env.action_space)
    sizes = [] if choices is None else sizes_of(choices)
    act: Callable[[Array], Array] | None = None
    if policy is not None:
        width = sum(sizes) if sizes else int(np.prod(env.action_space.shape))
        function = policy_function(policy, width, deterministic, parts=len(sizes))
        if isinstance(function, str):
            raise SettingError("an ONNX file cannot drive an environment; give the policy as a callable")
        act = function
    env.action_space.seed(seed)
    states, actions, rewards, next_states, terminated, truncated = [], [], [], [], [], []
    state, _ = env.reset(seed=seed)
    for _ in range(steps):
        if act is None:
            action = env.action_space.sample()
        else:
            row = act(np.asarray(state, dtype=np.float32).reshape(1, -1))[0]
            action = _chosen(row, sizes) if sizes else row
            action = int(action[0]) if env.action_space.shape == () else action.reshape(env.action_space.shape)
        next_state, reward, ended, cut, _ = env.step(action)
        states.append(np.asarray(state, dtype=np.float32).reshape(-1))
        actions.append(np.asarray(action))
        rewards.append(float(reward))
        next_states.append(np.asarray(next_state, dtype=np.float32).reshape(-1))
        terminated.append(bool(ended))
        truncated.append(bool(cut))
        state = env.reset()[0] if ended or cut else next_state
    if made:
        env.close()
    _log.info("collected %d steps", steps)
    return Dataset.from_arrays(
        np.stack(states),
        np.stack(actions).reshape(steps, -1),
        np.array(rewards),
        np.stack(next_states),
        terminated=np.array(terminated),
        # The end of the log cuts the last episode off.
        truncated=np.array(truncated[:-1] + [truncated[-1] or not terminated[-1]]),
        discrete_actions=choices,
        state_names=state_names,
        action_names=action_names,
    )


def choices_of(space: Any) -> Choices | None:
    """How many choices the actions of a space have, if they are choices: Discrete, MultiDiscrete or MultiBinary."""
    if hasattr(space, "nvec"):
        return [int(size) for size in np.asarray(space.nvec).reshape(-1)]
    if type(space).__name__ == "MultiBinary":
        return [2] * int(np.prod(space.shape))
    return int(space.n) if hasattr(space, "n") else None


def _chosen(row: Array, sizes: list[int]) -> npt.NDArray[np.int64]:
    """Numbers of choices, of a row that says them, or holds a one or the highest score for each."""
    if len(row) == len(sizes):
        return row.astype(np.int64)
    ends = np.cumsum(sizes)
    return np.array([part.argmax() for part in np.split(row, ends[:-1])], dtype=np.int64)


def check_observations(space: Any) -> None:
    """Whether observations are numbers, or names that can be told apart by a number."""
    kind = type(space).__name__
    if hasattr(space, "spaces"):
        raise SettingError(
            f"observations are a {kind} of several spaces; make one box of them first, for instance with "
            "gymnasium.wrappers.FlattenObservation"
        )
    if kind == "Discrete":
        _log.warning("observations are names, not numbers: fit with hambo.Ensemble(tables=True)")
