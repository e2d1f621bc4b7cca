"""Policies of Stable-Baselines3, d3rlpy and torch as ONNX files, for the command."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._checks import given_as
from ._columns import one_hot, sizes_of
from ._dataset import Dataset
from ._functions import Array
from ._gymnasium import choices_of
from .errors import SettingError

__all__ = ["export_policy"]

_ROWS = 1_000
"""States that a file is checked on, if nobody gives any."""

_TOLERANCE = 1e-4
"""Largest difference from the original, as a share of the actions' size or 1: what rounding explains."""

_TIES = 1e-3
"""Share of the states in which two choices may be as good as each other."""


class _Source(NamedTuple):
    """What is exported."""

    width: int
    """Columns of an observation."""
    act: Callable[[Any], Any]
    """Best actions of a tensor of observations, as the data has them; traced."""
    draw: Callable[[Any, Any], Any] | None
    """Actions that standard normal noise decides about, as the data has them; None if it never draws."""
    noise: int
    """Columns of that noise."""
    expected: Callable[[Array], npt.NDArray[Any]]
    """Best actions as the original says them, encoded as in the data."""
    networks: list[Any]
    """The modules that are asked."""
    chooses: bool = False
    """Whether actions are choices alone."""


def export_policy(
    policy: Any,
    path: str | os.PathLike[str],
    states: Dataset | npt.ArrayLike | None = None,
    *,
    normalize: Any = None,
    deterministic: bool = True,
) -> float:
    """Write a policy as an ONNX file, in the units of its action space, and check the file against the policy.

    Choices are written as a one and zeros. Returns the largest difference from the policy's own actions; a file that
    differs by more than rounding explains is refused. Needs torch, which such policies have brought, and
    `pip install onnx`.

    Parameters
    ----------
    policy
        A model of Stable-Baselines3 (PPO, A2C, SAC, TD3, DDPG, DQN, ...) or of d3rlpy, a torch module, or one with
        `act_inference` as RSL-RL has it.
    path
        The file to write.
    states
        What it is checked on: logs, or observations ``[rows, d_s]``. Needed for torch modules, whose inputs nobody
        knows; of others random ones are made up.
    normalize
        The `VecNormalize` that a model was trained with, if there was one: the file then takes observations as they
        are logged.
    deterministic
        Write the best actions. Otherwise, for models of Stable-Baselines3, actions that are drawn: the file has a
        second input `noise` of standard normal numbers, which hambo draws. What is checked are the best actions.
    """
    try:
        import onnx  # noqa: F401, torch's exporter needs it
        import torch
    except ImportError as missing:
        raise SettingError(f"exporting a policy needs {missing.name}: pip install {missing.name}") from None
    given = states.states if isinstance(states, Dataset) else states
    logged = None if given is None else np.ascontiguousarray(given, dtype=np.float32)
    source = _source(policy, normalize, logged)
    if logged is None:
        logged = np.random.default_rng(0).standard_normal((_ROWS, source.width)).astype(np.float32)
    if logged.ndim != 2 or logged.shape[1] != source.width:
        raise SettingError(f"`states` have shape {logged.shape}, but the policy takes [rows, {source.width}]")
    if not deterministic and source.draw is None:
        raise SettingError(f"{given_as(policy)} draws no actions that could be written; export it deterministic")
    # Two rows, so that nothing takes one row for the rule.
    examples = [torch.zeros((2, source.width))] + ([] if deterministic else [torch.zeros((2, source.noise))])
    names = ["state", "noise"][: len(examples)]
    # Distributions look at their numbers when they are made, which the exporter remarks on.
    with _constant(source.networks), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _module(source.act if deterministic else source.draw),
            tuple(examples),
            os.fspath(path),
            # The newer exporter fails on SAC.
            dynamo=False,
            opset_version=17,
            input_names=names,
            output_names=["action"],
            dynamic_axes={name: {0: "batch"} for name in [*names, "action"]},
        )
    return _checked(path, source, logged, deterministic)


def _checked(path: str | os.PathLike[str], source: _Source, states: Array, deterministic: bool) -> float:
    from onnx.reference import ReferenceEvaluator

    given = {"state": states}
    if not deterministic:
        # Without noise the best action is drawn.
        given["noise"] = np.zeros((len(states), source.noise), dtype=np.float32)
    (found,) = ReferenceEvaluator(os.fspath(path)).run(None, given)
    expected = source.expected(states)
    difference = float(np.abs(found - expected).max())
    allowed = _TOLERANCE * max(1.0, float(np.abs(expected).max()))
    differ = float((np.abs(found - expected) > allowed).any(axis=1).mean())
    # Rounding may take two choices that are as good as each other for one another, but no number for another one.
    if differ > (_TIES if source.chooses else 0.0):
        os.unlink(path)
        raise SettingError(
            f"the file acts differently from the policy, by up to {difference:.3g} on {100 * differ:.1f} % of the "
            "states, and was removed; export the policy by its own library, and compare what both do on logged states"
        )
    return difference


@contextmanager
def _constant(networks: list[Any]) -> Iterator[None]:
    """Weights that somebody might train cannot be written as numbers."""
    weights = [weight for network in networks for weight in network.parameters() if weight.requires_grad]
    for weight in weights:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in weights:
            weight.requires_grad_(True)


def _module(forward: Any) -> Any:
    import torch

    class Traced(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def forward(self, *inputs: Any) -> Any:
            return forward(*inputs)

    return Traced().eval()


def _source(policy: Any, normalize: Any, states: Array | None) -> _Source:
    own = getattr(policy, "policy", policy)
    if hasattr(own, "_predict") and hasattr(own, "action_space"):
        return _of_stable_baselines(own, normalize)
    if hasattr(policy, "impl") and hasattr(policy, "action_size"):
        return _of_d3rlpy(policy)
    import torch

    act = getattr(policy, "act_inference", policy)
    if not isinstance(policy, torch.nn.Module):
        raise SettingError(
            f"{given_as(policy)} is no model of Stable-Baselines3 or d3rlpy, and no torch module; export it by its own "
            "library"
        )
    if states is None or states.ndim != 2:
        raise SettingError("nobody knows how wide the inputs of a torch module are; give `states`, such as the logs")
    policy.eval()

    def expected(states: Array) -> npt.NDArray[Any]:
        with torch.no_grad():
            return np.asarray(act(torch.from_numpy(states)).cpu())

    return _Source(states.shape[1], act, None, 0, expected, [policy])


def _of_stable_baselines(policy: Any, normalize: Any) -> _Source:
    import torch

    shape = getattr(policy.observation_space, "shape", None)
    if not shape or len(shape) != 1:
        raise SettingError("the model's observations are not one row of numbers; flatten them before training")
    policy.set_training_mode(False)
    policy.to("cpu")
    space, choices = policy.action_space, choices_of(policy.action_space)
    mean = spread = clip = low = high = None
    if normalize is not None:
        mean = torch.as_tensor(normalize.obs_rms.mean, dtype=torch.float32)
        spread = torch.as_tensor(normalize.obs_rms.var + normalize.epsilon, dtype=torch.float32).sqrt()
        clip = normalize.clip_obs
    if choices is None:
        low, high = torch.as_tensor(space.low), torch.as_tensor(space.high)

    def seen(state: Any) -> Any:
        return state if normalize is None else ((state - mean) / spread).clamp(-clip, clip)

    def scaled(actions: Any) -> Any:
        if policy.squash_output:
            return low + 0.5 * (actions + 1.0) * (high - low)
        return torch.max(torch.min(actions, high), low)

    def scores(state: Any) -> list[Any]:
        if hasattr(policy, "q_net"):
            return [policy.q_net(state)]
        found = policy.get_distribution(state).distribution
        if isinstance(found, list):
            return [part.logits for part in found]
        # Independent switches are choices of two each.
        if isinstance(found, torch.distributions.Bernoulli):
            return [torch.stack([torch.zeros_like(one), one], dim=1) for one in found.logits.unbind(dim=1)]
        return [found.logits]

    def act(state: Any) -> Any:
        if choices is not None:
            return torch.cat([_highest(part) for part in scores(seen(state))], dim=1)
        return scaled(policy._predict(seen(state), deterministic=True))

    def draw(state: Any, noise: Any) -> Any:
        if choices is not None:
            drawn = noise.split([part.shape[1] for part in scores(seen(state))], dim=1)
            parts = zip(scores(seen(state)), drawn, strict=True)
            return torch.cat([_highest(part + _gumbel(own)) for part, own in parts], dim=1)
        if hasattr(policy, "actor"):
            centre, log_std, _ = policy.actor.get_action_dist_params(seen(state))
            return scaled(torch.tanh(centre + log_std.exp() * noise))
        found = policy.get_distribution(seen(state)).distribution
        return scaled(found.mean + found.stddev * noise)

    def expected(states: Array) -> npt.NDArray[Any]:
        shown = states if normalize is None else normalize.normalize_obs(states)
        found = np.asarray(policy.predict(shown, deterministic=True)[0])
        return found if choices is None else one_hot(found - _first(space), sizes_of(choices))

    draws = hasattr(policy, "get_distribution") or hasattr(getattr(policy, "actor", None), "get_action_dist_params")
    draws = draws and not getattr(policy, "use_sde", False)
    noise = int(np.prod(space.shape)) if choices is None else sum(sizes_of(choices))
    return _Source(shape[0], act, draw if draws else None, noise, expected, [policy], choices is not None)


def _of_d3rlpy(algo: Any) -> _Source:
    import torch

    if algo.impl is None:
        raise SettingError("the d3rlpy algo has no networks yet; build it with a dataset, or fit it")
    shape = algo.observation_shape
    if not isinstance(shape, (tuple, list)) or len(shape) != 1 or not isinstance(shape[0], int):
        raise SettingError("the algo's observations are not one row of numbers; flatten them before training")
    is_choice = getattr(algo.get_action_type(), "name", "") == "DISCRETE"
    seen, scaled, size = algo.config.observation_scaler, algo.config.action_scaler, int(algo.action_size)

    def act(state: Any) -> Any:
        found = algo.impl.inner_predict_best_action(state if seen is None else seen.transform(state))
        if is_choice:
            return (found.reshape(-1, 1) == torch.arange(size)).float()
        return found if scaled is None else scaled.reverse_transform(found)

    def expected(states: Array) -> npt.NDArray[Any]:
        found = np.asarray(algo.predict(states))
        return one_hot(found, [size]) if is_choice else found

    networks = [part for part in vars(algo.impl.modules).values() if isinstance(part, torch.nn.Module)]
    return _Source(int(shape[0]), act, None, 0, expected, networks, is_choice)


def _first(space: Any) -> Any:
    """The number of the first choice."""
    return np.asarray(getattr(space, "start", 0))


def _highest(scores: Any) -> Any:
    """A one for the highest score, the first of equals, and zeros."""
    import torch

    return (scores.argmax(dim=1, keepdim=True) == torch.arange(scores.shape[1])).float()


def _gumbel(noise: Any) -> Any:
    """Standard normal numbers as those that make the highest of scores a draw by their probabilities. Of zeros all are
    alike, and the highest score stays the highest."""
    import torch

    uniform = (0.5 * (1.0 + torch.erf(noise * 0.5**0.5))).clamp(1e-7, 1.0 - 1e-7)
    return -torch.log(-torch.log(uniform))
