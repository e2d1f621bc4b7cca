"""Policies, rewards and terminations of any kind as plain functions on float32 arrays.

Objects are recognised by what they can do; no other package is imported for it.
"""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .errors import SettingError, SuppliedError

_log = logging.getLogger("hambo")

Array: TypeAlias = npt.NDArray[np.float32]
Batch = Callable[[Array], Any]


class HasPredict(Protocol):
    """What Stable-Baselines3 models and d3rlpy algos have."""

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """Actions for a batch of observations."""


Policy: TypeAlias = "Callable[[Array], Any] | HasPredict | str | os.PathLike[str]"
"""A callable on batches, an object with `predict`, or the path of an ONNX file."""

LogProb: TypeAlias = "Callable[[Array, Array], Any] | str | os.PathLike[str]"
"""A callable on batches (s, a), an expression or an ONNX file."""

TransitionFunction: TypeAlias = "Callable[[Array, Array, Array], Any] | str | os.PathLike[str]"
"""A callable on batches (s, a, s'), an expression, a built-in task's name, or an ONNX file."""


def policy_function(
    policy: Policy, action_dim: int, deterministic: bool, inputs: Sequence[int] = (), parts: int = 0
) -> Callable[[Array], Array] | str:
    """A function from states to float32 actions, or the path of an ONNX file, which chooses its inputs itself."""
    if isinstance(policy, (str, os.PathLike)):
        return os.fspath(policy)
    act = _act(policy, deterministic)

    def actions(states: Array) -> Array:
        seen = np.ascontiguousarray(states[:, inputs]) if inputs else states
        return _rows(act(seen), len(states), action_dim, parts)

    return actions


def log_prob_function(
    given: LogProb | None, policy: Policy, deterministic: bool, inputs: Sequence[int] = ()
) -> Callable[[Array, Array, Array], Array] | str | None:
    """How probable a policy's actions are, as a function of transitions; None if nobody knows."""
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    predict = getattr(policy, "predict", None)
    if given is not None and deterministic and callable(predict) and "deterministic" in _parameters(predict):
        raise SettingError("`log_prob` is about a policy that draws its actions; give `deterministic=False` with it")
    known = given if given is not None else _own_log_prob(policy, deterministic)
    if known is None:
        return None
    if not callable(known):
        raise SettingError(
            f"`log_prob` is {_kind(known)}; give a callable (observations, actions) -> [batch], an expression or "
            "the path of an ONNX file"
        )
    function = known

    def log_probs(states: Array, actions: Array, _next_states: Array) -> Any:
        seen = np.ascontiguousarray(states[:, inputs]) if inputs else states
        return function(seen, actions)

    return transition_function(log_probs, "policy's log_prob")


def _own_log_prob(policy: Any, deterministic: bool) -> Any:
    own = getattr(policy, "log_prob", None)
    if callable(own):
        return own
    inner = getattr(policy, "policy", None)
    if deterministic or not callable(getattr(inner, "evaluate_actions", None)):
        return None
    return lambda states, actions: _by_stable_baselines(policy, inner, states, actions)


def _by_stable_baselines(algorithm: Any, policy: Any, states: Array, actions: Array) -> Any:
    """Densities of an on-policy algorithm, which has one for every action that it samples."""
    torch = sys.modules["torch"]
    chosen: Any = actions
    if hasattr(algorithm.action_space, "nvec"):
        ends = np.cumsum(algorithm.action_space.nvec)
        chosen = np.stack([part.argmax(axis=1) for part in np.split(actions, ends[:-1], axis=1)], axis=1)
    elif hasattr(algorithm.action_space, "n"):
        chosen = (actions.argmax(axis=1) if actions.shape[1] > 1 else actions[:, 0]).astype(np.int64)
    with torch.no_grad():
        observations = torch.as_tensor(states, device=policy.device)
        return policy.evaluate_actions(observations, torch.as_tensor(chosen, device=policy.device))[1]


def transition_function(given: TransitionFunction, part: str) -> Callable[[Array, Array, Array], Array] | str:
    """A function of transitions with one float32 value each, or a text."""
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    if not callable(given):
        raise SettingError(
            f"the {part} is {_kind(given)}; give a callable (states, actions, next_states) -> [batch], "
            "an expression, the path of an ONNX file or the name of a built-in task"
        )
    function = given

    def values(states: Array, actions: Array, next_states: Array) -> Array:
        found = _array(function(states, actions, next_states), part)
        if found.shape not in {(len(states),), (len(states), 1)}:
            raise SuppliedError(
                f"the {part} returned shape {found.shape} for {len(states)} transitions; return one value for each"
            )
        return np.ascontiguousarray(found.reshape(-1), dtype=np.float32)

    return values


def start_function(draw: Callable[[np.random.Generator, int], Any], state_dim: int) -> Callable[[int, int], Array]:
    """A function from a count and a seed to initial states."""

    def starts(count: int, seed: int) -> Array:
        found = _array(draw(np.random.default_rng(seed), count), "function of initial states")
        if found.shape != (count, state_dim):
            raise SuppliedError(
                f"the function of initial states returned shape {found.shape}; return [{count}, {state_dim}]"
            )
        return np.ascontiguousarray(found, dtype=np.float32)

    return starts


def _act(policy: Any, deterministic: bool) -> Batch:
    predict = getattr(policy, "predict", None)
    if callable(predict):
        if "deterministic" in _parameters(predict):
            _warn_of_normalised_observations(policy)
            return lambda states: _without_memory(predict(states, deterministic=deterministic))
        sample = getattr(policy, "sample_action", None)
        chosen: Batch = sample if callable(sample) and not deterministic else predict
        return chosen
    if _is_torch_module(policy):
        return lambda states: _run_torch(policy, states)
    owner = getattr(policy, "__self__", None)
    if owner is not None and getattr(owner, "predict", None) == policy and "deterministic" in _parameters(policy):
        raise SettingError(
            f"the policy is the method `predict` of {_kind(owner)}, which returns more than actions; give the "
            "object itself"
        )
    if callable(policy):
        function: Batch = policy
        return function
    raise SettingError(
        f"the policy is {_kind(policy)}; give a callable observations[batch, d_s] -> actions[batch, d_a], "
        "an object with `predict` (Stable-Baselines3, d3rlpy) or the path of an ONNX file"
    )


def _parameters(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def _warn_of_normalised_observations(policy: Any) -> None:
    """Stable-Baselines3's models do not normalise by themselves: their environments do it for them."""
    environment = getattr(policy, "get_vec_normalize_env", lambda: None)()
    if environment is not None and getattr(environment, "norm_obs", True):
        _log.warning(
            "the policy was trained on normalised observations (VecNormalize), but is given those of the logs; if "
            "these are not normalised, give: lambda s: model.predict(env.normalize_obs(s), deterministic=True)[0]"
        )


def _without_memory(found: Any) -> Any:
    """Stable-Baselines3 returns actions and the state of a policy that has a memory."""
    if not isinstance(found, tuple):
        return found
    actions, memory = found
    if memory is not None:
        raise SuppliedError("the policy has a memory (it is recurrent), and cannot be evaluated")
    return actions


def _is_torch_module(policy: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(policy, torch.nn.Module)


def _run_torch(module: Any, states: Array) -> Any:
    torch = sys.modules["torch"]
    with torch.no_grad():
        first = next(iter(module.parameters()), None)
        device = "cpu" if first is None else first.device
        return module(torch.from_numpy(states).to(device))


def _array(found: Any, part: str) -> npt.NDArray[Any]:
    if hasattr(found, "detach"):
        found = found.detach().cpu().numpy()
    try:
        array = np.asarray(found)
    except ValueError:
        # NumPy only says that the parts have different shapes.
        length = f" of {len(found)} parts" if hasattr(found, "__len__") else ""
        raise SuppliedError(
            f"the {part} returned {_kind(found)}{length} that make no array; return numbers, one row for each state"
        ) from None
    if array.dtype.kind not in "fiub":
        raise SuppliedError(f"the {part} returned {_kind(found)} of type {array.dtype}; return numbers")
    return array


def _rows(found: Any, rows: int, width: int, parts: int) -> Array:
    """Actions as the data has them, or a number for each of their parts: that of a choice, or itself."""
    array = _array(found, "policy")
    if array.ndim == 1 and len(array) == rows:
        array = array[:, np.newaxis]
    if array.shape not in {(rows, width), (rows, parts)}:
        raise SuppliedError(
            f"the policy returned shape {array.shape} for a batch of {rows} states; "
            f"return [{rows}, {width}], one row for each state"
        )
    return np.ascontiguousarray(array, dtype=np.float32)


def _kind(value: Any) -> str:
    return f"a `{type(value).__name__}`"
