"""Evaluations and rankings."""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _native
from ._dataset import Dataset
from ._evaluation import Evaluation
from ._functions import Policy, TransitionFunction, policy_function, start_function, transition_function
from ._model import Model
from ._progress import ProgressOption, reporter
from ._ranking import Ranking
from ._settings import Adversary, Fixed, StateBounds, Thresholds
from .errors import SettingError
from .tasks import TaskName

__all__ = ["evaluate", "rank"]

_log = logging.getLogger("hambo")

InitialStates: TypeAlias = "npt.ArrayLike | Fixed | Callable[[np.random.Generator, int], Any] | None"
"""A sample ``[count, d_s]``, all there are, a function of a generator and a count, or the data's own."""


def evaluate(
    model: Model,
    policy: Policy,
    *,
    horizon: int,
    delta: float = 0.05,
    reward: TransitionFunction | None = None,
    termination: TransitionFunction | None = None,
    initial_states: InitialStates = None,
    constraints: Mapping[str, TransitionFunction] | None = None,
    discount: float = 1.0,
    state_bounds: StateBounds | TaskName | None = None,
    reward_bounds: tuple[float, float] | None = None,
    floor: float | None = None,
    against: Literal["logged"] | Policy | None = None,
    margin: float | None = None,
    trained_on: Dataset | None = None,
    preset: Literal["paper"] | None = None,
    variants: Sequence[str] = (),
    stress: bool = False,
    beta: float = 1.0,
    narrow_box: bool = False,
    noise: bool = True,
    episodes: int = 5_000,
    attempts: int = 1,
    cost_episodes: int = 200,
    adversary: Adversary | None = None,
    thresholds: Thresholds | None = None,
    rules_differ: bool = False,
    accept_weaker: Sequence[str] = (),
    deterministic: bool = True,
    seed: int = 0,
    progress: ProgressOption = None,
) -> Evaluation:
    """Bound a policy's expected return from below.

    Parameters
    ----------
    model
        What `fit` made of the data.
    policy
        A callable ``observations[batch, d_s] -> actions[batch, d_a]``, a Stable-Baselines3 model, a d3rlpy
        algo, a torch module, or the path of an ONNX file. It is called once per step for all episodes.
    horizon
        Steps per episode.
    delta
        Probability with which the bound may fail. What it covers is said in the result.
    reward
        A callable ``(states, actions, next_states) -> [batch]``, an expression over the data's columns
        such as ``"-(theta^2) - 0.1 * speed^2"``, the path of an ONNX file, or the name of a built-in
        task. Without it the reward that the model learned from the data is used.
    termination
        The same, true where a transition ends the episode. Without it episodes go on to the horizon,
        and there is a warning if logged ones ended earlier.
    initial_states
        An array ``[count, d_s]`` that is a sample of where episodes start, `Fixed` for states that are
        all there are, or a callable ``(rng, count) -> [count, d_s]``. Without it the first states of the
        data's episodes are used.
    constraints
        Functions as for `reward`, by name, whose mean over the steps should not be negative; each is
        bounded, too.
    discount
        Weight of a reward relative to the one before it, in (0, 1].
    state_bounds
        What every state obeys, or the name of a built-in task. Without it hallucinated states stay in
        the range of the data, widened as the model says.
    reward_bounds
        Smallest and largest reward of a step, if the reward is learned. Without it, it stays in the logged range,
        widened as the model says.
    floor
        The least that a step can earn, if that is known. Episodes that leave the data then stop, and earn it in every
        step that is left, and no verdict abstains because of them.
    against
        What the policy is compared with: ``"logged"`` for whoever acted in the logs, or another policy. The result
        then has a lower bound on the improvement, which is tighter than two separate bounds.
    margin
        How much more it must earn than that; the verdict is then about it, too.
    trained_on
        The data that the policy was trained on. A warning says how many of its episodes the model was fitted on, too;
        better is a model of others, ``hambo.fit(data.without(training_data))``.
    preset
        ``"paper"`` for the paper's bound: CA, DA1 and DAinf decide, DS is beside them, and `narrow_box` is set. Give it
        a model that was fitted with `Ensemble.paper()`.
    variants
        Of worlds, CA, DA1, DAinf, DS, TS1 and TSinf. By default worlds, the limit over an ensemble's members;
        for Gaussian processes CA and DS. Without worlds the smallest bound of CA, DA1 and DAinf counts.
    stress
        Play CA, DA1, DAinf and DS as well. Beside worlds they are stress tests, on which the bound does not depend.
    beta
        Factor on the confidence box of CA.
    narrow_box
        Whether temperatures below one narrow that box, as they do in the paper.
    noise
        Whether rollouts draw aleatoric noise.
    episodes
        Fresh episodes behind each estimate.
    attempts
        Adversaries trained from scratch per learned variant; the lowest bound counts.
    cost_episodes
        Episodes of CA's adversary for each output that it may shift, which show what its harm is made of; zero
        leaves that out. No bound depends on them.
    adversary
        How they are trained.
    thresholds
        When warnings are raised.
    rules_differ
        Set this if `reward` or `termination` deliberately differs from the logged one. Silences both warnings about
        it.
    accept_weaker
        Settings weaker than the defaults that may nevertheless lead to the verdict ``"certified"``, by name, such as
        ``"beta"`` or ``"thresholds.outside_data"``; warnings name them.
    deterministic
        Ask policies with `predict` for their best action instead of a random one.
    seed
        The same seed gives the same result, on any number of threads, if the policy does its part.
    progress
        As for `fit`.

    Returns
    -------
    Evaluation
        The bound, the evidence and the warnings.
    """
    if not isinstance(model, Model):
        raise SettingError(f"the model is a `{type(model).__name__}`; give what `hambo.fit` returns")
    if preset not in (None, "paper"):
        raise SettingError(f"`preset` is {preset!r}; the only one is 'paper'")
    if preset == "paper":
        variants, narrow_box = variants or ("CA", "DA1", "DAinf", "DS"), True
    plan = {
        **task_document(horizon, discount, state_bounds, reward_bounds),
        "floor": None if floor is None else _finite(floor, "floor"),
        "against": None
        if against is None
        else [_name_of(against), None if margin is None else _finite(margin, "margin")],
        "settings": {
            "variants": [_variant(name) for name in variants],
            "stress": stress,
            "delta": _finite(delta, "delta"),
            "beta": _finite(beta, "beta"),
            "narrow_box": narrow_box,
            "noise": noise,
            "episodes": _count(episodes, "episodes"),
            "attempts": _count(attempts, "attempts"),
            "cost_episodes": _count(cost_episodes, "cost_episodes"),
            "adversary": (adversary or Adversary())._document(),
            "thresholds": (thresholds or Thresholds())._document(),
            "rules_differ": rules_differ,
            "accept_weaker": list(accept_weaker),
        },
    }
    parts = {name: transition_function(part, f"constraint `{name}`") for name, part in (constraints or {}).items()}
    with reporter(progress) as report:
        text = _native.evaluate(
            model._inner,
            policy_function(policy, model.action_dim, deterministic),
            json.dumps(plan),
            seed,
            reward=None if reward is None else transition_function(reward, "reward"),
            termination=None if termination is None else transition_function(termination, "termination"),
            starts=_starts(initial_states),
            constraints=list(parts.items()),
            baseline=None
            if against is None or against == "logged"
            else policy_function(against, model.action_dim, deterministic),
            trained_on=None if trained_on is None else trained_on._inner,
            progress=report,
        )
    found = Evaluation._of(text)
    _log.info("%s", found._headline())
    for warning in found.warnings:
        _log.warning("%s", warning)
    return found


def rank(model: Model, policies: Mapping[str, Policy], *, horizon: int, seed: int = 0, **options: Any) -> Ranking:
    """Evaluate several policies on the same random numbers, and sort them by their lower bounds.

    Parameters
    ----------
    model
        What `fit` made of the data.
    policies
        Policies by name, each as for `evaluate`.
    horizon, seed, options
        As for `evaluate`.
    """
    if not policies:
        raise SettingError("there are no policies to rank; give at least one")
    found = {}
    for name, policy in policies.items():
        _log.info("evaluating %s", name)
        found[name] = evaluate(model, policy, horizon=horizon, seed=seed, **options)
    return Ranking(found)


def task_document(
    horizon: int,
    discount: float,
    state_bounds: StateBounds | TaskName | None,
    reward_bounds: tuple[float, float] | None,
) -> dict[str, Any]:
    """What is plain about a task, for the native library."""
    return {
        "horizon": _count(horizon, "horizon"),
        "discount": discount,
        "state_bounds": _bounds(state_bounds),
        "reward_bounds": None
        if reward_bounds is None
        else [_finite(limit, "reward_bounds") for limit in reward_bounds],
    }


def _name_of(baseline: Any) -> str:
    if isinstance(baseline, str | os.PathLike):
        return Path(baseline).name
    return str(getattr(baseline, "__name__", None) or f"a {type(baseline).__name__}")


def _starts(given: InitialStates) -> Any:
    if given is None:
        return None
    if callable(given):
        return start_function(given)
    kind, states = ("fixed", given.states) if isinstance(given, Fixed) else ("observed", given)
    rows = np.require(states, np.float32, ["C", "A"])
    if rows.ndim != 2:
        raise SettingError(f"`initial_states` has shape {rows.shape}; give [count, d_s]")
    return kind, rows


def _bounds(given: StateBounds | TaskName | None) -> dict[str, Any] | str | None:
    return given._document() if isinstance(given, StateBounds) else given


def _variant(name: str) -> str:
    return str(name).lower()


def _count(value: int, name: str) -> int:
    if value < 0 or int(value) != value:
        raise SettingError(f"setting `{name}` is {value}; expected a whole number, not negative")
    return int(value)


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise SettingError(f"setting `{name}` is {value}; expected a finite number")
    return float(value)
