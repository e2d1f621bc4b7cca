"""Evaluations."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from . import _native
from ._asked import in_words, starts_in_words
from ._cache import Cached
from ._checks import (
    checked_count,
    checked_finite,
    checked_folder,
    checked_mapping,
    checked_names,
    checked_seed,
    checked_threads,
    checked_variants,
    given_as,
)
from ._dataset import Dataset
from ._effort import Effort, checked_effort, rollouts, weaker_of, with_effort
from ._evaluation import Evaluation
from ._findings import VariantName
from ._functions import LogProb, Policy, TransitionFunction, log_prob_function, policy_function, transition_function
from ._model import EnsembleModel, Model
from ._progress import ProgressOption, watched
from ._ray import on_cluster
from ._settings import Adversary, BaselineSettings, StateBounds, Thresholds
from ._show import headline
from ._task import InitialStates, columns_of, starts_document, task_document
from .errors import SettingError
from .tasks import TaskName

__all__ = ["evaluate"]

_log = logging.getLogger("hambo")


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
    inputs: Sequence[str] | None = None,
    against: Literal["logged"] | Policy | None = None,
    margin: float | None = None,
    trained_on: Dataset | None = None,
    preset: Literal["paper"] | None = None,
    variants: Sequence[VariantName] = (),
    stress: bool = False,
    beta: float = 1.0,
    narrow_box: bool = False,
    noise: bool = True,
    effort: Effort = "standard",
    episodes: int | None = None,
    attempts: int | None = None,
    cost_episodes: int | None = None,
    adversary: Adversary | None = None,
    thresholds: Thresholds | None = None,
    rules_differ: bool = False,
    accept_weaker: Sequence[str] = (),
    allow: Sequence[str] = (),
    baselines: bool | BaselineSettings = False,
    log_prob: LogProb | None = None,
    deterministic: bool = True,
    name: str | None = None,
    seed: int = 0,
    progress: ProgressOption = None,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    on: str | None = None,
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
    inputs
        The columns of the state that the policy takes, by their names and in its order; all of them if it is left out.
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
        What the policy is compared with: ``"logged"`` for the logged policy, or another policy. The result
        then has a lower bound on the improvement, which is often tighter than two separate bounds.
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
    effort
        ``"quick"`` for fewer episodes, and smaller adversaries where they are stress tests only; ``"thorough"`` for
        more episodes and attempts. What is given by the next four arguments wins. A quick bound is a first
        look, and its result says that it is quick.
    episodes
        Fresh episodes behind each estimate; 2,000 by default.
    attempts
        Adversaries trained from scratch per learned variant, of which the lowest bound counts; one by default.
    cost_episodes
        Episodes of CA's adversary for each output that it may shift, which show what its harm is made of; zero
        leaves that out, 200 is the default. No bound depends on them.
    adversary
        How they are trained.
    thresholds
        When warnings are raised.
    rules_differ
        Set this if `reward` or `termination` deliberately differs from the logged one. Silences both warnings about
        it.
    accept_weaker
        Settings weaker than the defaults that may nevertheless lead to the verdict ``"certified"``, by name, such as
        ``"beta"`` or ``"thresholds.outside_data"``, and of the fit ``"max_steps"`` and ``"hidden"``; warnings name
        them.
    allow
        Warnings that may nevertheless lead to the verdict ``"certified"``, by code, such as ``"at_limits"``; the
        verdict of the command and the report name them.
    baselines
        Ask the field's estimators as well, see `hambo.baselines`: true, or how they are computed. The bound does not
        depend on them.
    log_prob
        As for `hambo.baselines`.
    deterministic
        Ask policies with `predict` for their best action instead of a random one.
    name
        What the result calls the policy. Without it: the path of its file, or the qualified name of its function or
        class.
    seed
        The same seed gives the same result, on any number of threads, if the policy does its part. Such results are
        equal (``==``), whatever time they took.
    progress, threads
        As for `fit`.
    checkpoint
        As for `fit`. Findings are kept by what the policy and the rules answer to some hundred logged states, so that
        another policy finds none of them; one that answers at random begins anew.
    cache
        A folder of finished results. If it has one for the same policy, model, task, settings and version, that is the
        result; otherwise the new one is kept there. Only if policy, rules and baseline are files, expressions or
        names, and starts are no function: of a function nobody can tell whether it is the same as last time.
    on
        ``"ray"`` or the address of a Ray cluster: the work is done there, with the same result. See `rank`.

    Returns
    -------
    Evaluation
        The bound, the evidence and the warnings.
    """
    if on is not None:
        return _elsewhere(on, {name: value for name, value in locals().items() if name != "on"})
    if not isinstance(model, Model):
        raise SettingError(f"the model is {given_as(model)}; give what `hambo.fit` returns")
    if preset not in (None, "paper"):
        raise SettingError(f"`preset` is {preset!r}; the only one is 'paper'")
    if preset == "paper":
        variants, narrow_box = variants or ("CA", "DA1", "DAinf", "DS"), True
    checked_effort(effort)
    seed = checked_seed(seed)
    played = checked_variants(variants)
    worlds_decide = "worlds" in played or (not played and isinstance(model, EnsembleModel))
    settings = {
        "variants": played,
        "stress": stress,
        "delta": checked_finite(delta, "delta"),
        "beta": checked_finite(beta, "beta"),
        "narrow_box": narrow_box,
        "noise": noise,
        **_rollouts(effort, episodes=episodes, attempts=attempts, cost_episodes=cost_episodes),
        # Where adversaries decide, weaker ones would make the bound higher, and not lower.
        "adversary": with_effort(adversary or Adversary(), effort if worlds_decide else "standard")._document(),
        "thresholds": (thresholds or Thresholds())._document(),
        "rules_differ": rules_differ,
        "accept_weaker": checked_names(accept_weaker, "accept_weaker"),
        "allow": checked_names(allow, "allow"),
        "baselines": _opinions_document(baselines),
    }
    looked_at, seen = columns_of(inputs, model)
    plan = {
        **task_document(horizon, discount, state_bounds, reward_bounds),
        "floor": None if floor is None else checked_finite(floor, "floor"),
        "against": None
        if against is None
        else [_name_of(against), None if margin is None else checked_finite(margin, "margin")],
        "inputs": looked_at,
        "settings": settings,
        "quick": effort == "quick",
    }
    starts = starts_document(initial_states, model.state_dim)
    if trained_on is not None and not isinstance(trained_on, Dataset):
        raise SettingError(f"`trained_on` is {given_as(trained_on)}; give the Dataset that the policy was trained on")
    functions = {} if constraints is None else checked_mapping(constraints, "constraints", "functions")
    parts = {name: transition_function(part, f"constraint `{name}`") for name, part in functions.items()}
    asked = {
        "policy": in_words(policy) if name is None else str(name),
        "reward": None if reward is None else in_words(reward),
        "termination": None if termination is None else in_words(termination),
        "initial_states": starts_in_words(initial_states),
        "state_bounds": plan["state_bounds"],
        "reward_bounds": plan["reward_bounds"],
        "constraints": {name: in_words(part) for name, part in functions.items()},
        "effort": weaker_of(effort, model.effort),
    }
    called = {
        "reward": None if reward is None else transition_function(reward, "reward"),
        "termination": None if termination is None else transition_function(termination, "termination"),
        "starts": starts,
        "constraints": list(parts.items()),
        "baseline": None
        if against is None or against == "logged"
        else policy_function(against, model.action_dim, deterministic, seen, len(model.choices)),
        "log_prob": log_prob_function(log_prob, policy, deterministic, seen),
    }
    acts = policy_function(policy, model.action_dim, deterministic, seen, len(model.choices))
    known = {**called, "policy": acts, "trained_on": None if trained_on is None else trained_on.fingerprint}
    cached = Cached(checked_folder(cache), model, plan, seed, known)
    text = cached.recall()
    if text is None:
        with watched(progress) as course:
            course.begin(asked["policy"], _passes(model, settings, len(functions), against))
            text = _native.evaluate(
                model._inner,
                acts,
                json.dumps(plan),
                seed,
                **called,
                trained_on=None if trained_on is None else trained_on._inner,
                progress=course.listener,
                threads=checked_threads(threads),
                checkpoint=checked_folder(checkpoint),
            )
            course.end()
        cached.keep(text)
    found = Evaluation._of(text, asked)
    # The doubts themselves are in the result, and are not said here as well.
    inconclusive = found.lower_bound is not None and found._own_verdict() == "inconclusive"
    _log.log(logging.WARNING if inconclusive else logging.INFO, "%s: %s", found.policy, headline(found))
    return found


def _elsewhere(on: str, arguments: dict[str, Any]) -> Evaluation:
    """The same call as a task of a cluster."""
    model, progress = arguments.pop("model"), arguments.pop("progress")
    # A file has another path there.
    name = in_words(arguments["policy"]) if arguments["name"] is None else str(arguments["name"])
    with watched(progress) as course:
        [found] = on_cluster(on, evaluate, model, {name: {**arguments, "name": name}}, course).values()
    evaluation: Evaluation = found
    return evaluation


def _passes(model: Model, settings: Mapping[str, Any], constraints: int, against: Any) -> int | None:
    """How many times rollouts begin anew, in all worlds or in one, or None if adversaries are trained meanwhile."""
    members = int(model._about["members"])
    played = set(settings["variants"]) or ({"worlds"} if members else {"ca", "ds"})
    if settings["stress"] or played & {"ca", "da1"}:
        return None
    compared = against is not None and against != "logged"
    return len(played) * (1 + constraints) + compared


def _opinions_document(given: bool | BaselineSettings) -> dict[str, Any] | None:
    if isinstance(given, BaselineSettings):
        return given._document()
    if not isinstance(given, bool):
        raise SettingError(f"`baselines` is {given_as(given)}; give true, or hambo.BaselineSettings")
    return BaselineSettings()._document() if given else None


def _name_of(baseline: Any) -> str:
    if isinstance(baseline, str | os.PathLike):
        return Path(baseline).name
    return str(getattr(baseline, "__name__", None) or f"a {type(baseline).__name__}")


def _rollouts(effort: str, **given: int | None) -> dict[str, int]:
    return {name: checked_count(value, name) for name, value in rollouts(effort, **given).items()}
