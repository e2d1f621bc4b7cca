"""Other opinions: what the field's estimators say of the same policy, from the same logs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from . import _native
from ._checks import checked_finite, checked_seed, checked_threads, given_as
from ._dataset import Dataset
from ._functions import LogProb, Policy, TransitionFunction, log_prob_function, policy_function, transition_function
from ._model import Model
from ._opinions import Baselines
from ._progress import ProgressOption, watched
from ._settings import BaselineSettings, StateBounds
from ._task import InitialStates, columns_of, starts_document, task_document
from .errors import SettingError
from .tasks import TaskName

__all__ = ["baselines"]


def baselines(
    model: Model,
    policy: Policy,
    data: Dataset | None = None,
    *,
    horizon: int,
    delta: float = 0.05,
    reward: TransitionFunction | None = None,
    termination: TransitionFunction | None = None,
    initial_states: InitialStates = None,
    discount: float = 1.0,
    state_bounds: StateBounds | TaskName | None = None,
    reward_bounds: tuple[float, float] | None = None,
    floor: float | None = None,
    inputs: Sequence[str] | None = None,
    log_prob: LogProb | None = None,
    settings: BaselineSettings | None = None,
    deterministic: bool = True,
    seed: int = 0,
    progress: ProgressOption = None,
    threads: int | None = None,
) -> Baselines:
    """Ask the field's estimators about a policy: FQE, MOPO, MOReL, importance sampling, doubly robust ones.

    Those that weigh logged episodes need logs that say how probable their actions were (`Dataset.with_log_probs`, or a
    column that readers recognise), and a policy that says how probable its own are.

    Parameters
    ----------
    model
        What `fit` made of the data.
    data
        The logs to learn values from and to weigh. Without it, the episodes that the model keeps: at most 100,000
        transitions, and none that all members have seen.
    policy, horizon, delta, reward, termination, initial_states, discount, state_bounds, reward_bounds, floor, inputs
        As for `evaluate`.
    log_prob
        A callable ``(observations[batch, d_s], actions[batch, d_a]) -> [batch]`` of the logarithms of the policy's
        probabilities or densities, an expression, or the path of an ONNX file. Without it: a method ``log_prob`` of the
        policy, or ``evaluate_actions`` of a Stable-Baselines3 model if `deterministic` is false. A policy that always
        chooses the same of a few actions needs none.
    settings
        How they are computed.
    deterministic, seed, progress, threads
        As for `evaluate`.
    """
    if not isinstance(model, Model):
        raise SettingError(f"the model is {given_as(model)}; give what `hambo.fit` returns")
    if data is not None and not isinstance(data, Dataset):
        raise SettingError(f"`data` is {given_as(data)}; give the Dataset of the logs")
    names, columns = columns_of(inputs, model)
    asked = {
        "delta": checked_finite(delta, "delta"),
        "baselines": (settings or BaselineSettings())._document(),
    }
    plan = {
        **task_document(horizon, discount, state_bounds, reward_bounds),
        "floor": None if floor is None else checked_finite(floor, "floor"),
        "against": None,
        "inputs": names,
        "settings": asked,
    }
    with watched(progress) as course:
        text = _native.baselines(
            model._inner,
            policy_function(policy, model.action_dim, deterministic, columns, len(model.choices)),
            json.dumps(plan),
            checked_seed(seed),
            data=None if data is None else data._inner,
            reward=None if reward is None else transition_function(reward, "reward"),
            termination=None if termination is None else transition_function(termination, "termination"),
            starts=starts_document(initial_states, model.state_dim),
            log_prob=log_prob_function(log_prob, policy, deterministic, columns),
            progress=course.listener,
            threads=checked_threads(threads),
        )
    return Baselines._of(json.loads(text))
