"""Rankings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from ._checks import checked_finite, checked_mapping, checked_seed, checked_threads, given_as
from ._evaluate import evaluate
from ._functions import Policy, policy_function, transition_function
from ._model import Model
from ._progress import Course, ProgressOption, watched
from ._ranking import Ranking
from ._ray import on_cluster
from ._task import columns_of, starts_document, task_document
from .errors import SettingError

__all__ = ["rank"]

SCREENED_FROM = 10
"""With so many policies, those that earn clearly less than another one in every world are not evaluated."""


LOOKS_PER_TASK = 8
"""Policies that one task of a cluster has a short look at."""


def rank(
    model: Model,
    policies: Mapping[str, Policy],
    *,
    horizon: int,
    delta: float = 0.05,
    separate: bool = False,
    evaluate_all: bool = False,
    seed: int = 0,
    on: str | None = None,
    **options: Any,
) -> Ranking:
    """Evaluate several policies on the same random numbers, and sort them by their lower bounds.

    Parameters
    ----------
    model
        What `fit` made of the data.
    policies
        Policies by name, each as for `evaluate`.
    delta
        Probability with which any of the bounds may fail: they share it, so that all hold together.
    separate
        Let each bound fail with `delta` instead.
    evaluate_all
        Of ten or more policies, those that earn clearly less than another one in every world are not evaluated, but
        named in `Ranking.stopped`, unless this is set.
    on
        ``"ray"`` or the address of a Ray cluster: every policy is a task of one core there, or of as many as `threads`
        says, and the result is the same. The model and ONNX policies travel with the tasks; other policies and rules
        must be picklable, and other files must be there on every machine. What dies is begun again. With `cache`,
        which is a folder of this machine, a call that was interrupted goes on where it was.
    horizon, seed, options
        As for `evaluate`.
    """
    if not isinstance(model, Model):
        raise SettingError(f"the model is {given_as(model)}; give what `hambo.fit` returns")
    named = checked_mapping(policies, "policies", "policies")
    if not named:
        raise SettingError("there are no policies to rank; give at least one")
    each = checked_finite(delta, "delta") / (1 if separate else len(named))
    options = {**options, "horizon": horizon, "seed": seed}
    progress = options.pop("progress", None)
    with watched(progress, len(named)) as course:
        stopped = {}
        if not evaluate_all and len(named) >= SCREENED_FROM:
            stopped = _dominated(model, named, options, on, course)
        left = {name: policy for name, policy in named.items() if name not in stopped}
        course.expect(len(left))
        jobs = {name: {"name": name, **options, "policy": policy, "delta": each} for name, policy in left.items()}
        if on is None:
            found = {name: evaluate(model, **job, progress=course) for name, job in jobs.items()}
        else:
            found = on_cluster(on, evaluate, model, jobs, course)
    return Ranking(found, stopped)


def _dominated(
    model: Model, policies: Mapping[str, Policy], options: Mapping[str, Any], on: str | None, course: Course
) -> dict[str, str]:
    """Policies that earn clearly less than another one in every world, and which one that is."""
    known = list(policies)
    if on is None:
        looks = _looks(
            model, policies=list(policies.values()), options=options, progress=False, threads=options.get("threads")
        )
    else:
        groups = [known[first : first + LOOKS_PER_TASK] for first in range(0, len(known), LOOKS_PER_TASK)]
        jobs = {
            f"short looks, {group[0]} to {group[-1]}": {
                "policies": [policies[name] for name in group],
                "options": options,
                "threads": options.get("threads"),
            }
            for group in groups
        }
        looks = [look for found in on_cluster(on, _looks, model, jobs, course).values() for look in found]
    by = _native.dominated(looks)
    return {name: known[other] for name, other in zip(known, by, strict=True) if other is not None}


def _looks(
    model: Model,
    *,
    policies: Sequence[Policy],
    options: Mapping[str, Any],
    progress: ProgressOption = None,
    threads: int | None = None,
) -> list[str]:
    """Short looks at policies, as JSON."""
    names, columns = columns_of(options.get("inputs"), model)
    given = {key: options.get(key) for key in ("state_bounds", "reward_bounds", "floor")}
    plan = {
        **task_document(
            options["horizon"], options.get("discount", 1.0), given["state_bounds"], given["reward_bounds"]
        ),
        "floor": given["floor"],
        "against": None,
        "inputs": names,
        "settings": {"noise": options.get("noise", True)},
    }
    reward, termination = options.get("reward"), options.get("termination")
    deterministic = options.get("deterministic", True)
    with watched(progress) as course:
        return _native.look(
            model._inner,
            [
                policy_function(policy, model.action_dim, deterministic, columns, len(model.choices))
                for policy in policies
            ],
            json.dumps(plan),
            checked_seed(options["seed"]),
            reward=None if reward is None else transition_function(reward, "reward"),
            termination=None if termination is None else transition_function(termination, "termination"),
            starts=starts_document(options.get("initial_states"), model.state_dim),
            progress=course.listener,
            threads=checked_threads(threads),
        )
