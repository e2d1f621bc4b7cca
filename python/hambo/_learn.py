"""Policies that are learned from logs, near what was done in them."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from . import _native
from ._checks import checked_finite, checked_folder, checked_seed, checked_threads, given_as
from ._functions import TransitionFunction, transition_function
from ._model import EnsembleModel
from ._progress import ProgressOption, watched
from ._settings import StateBounds
from ._task import InitialStates, starts_document, task_document
from .errors import SettingError
from .tasks import TaskName

__all__ = ["LearnRound", "Learned", "Learner", "learn"]

_log = logging.getLogger("hambo")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Learner:
    """How a policy is learned.

    Parameters
    ----------
    against
        "logs" for nobody: it learns from the logged steps alone and stays near what was done, and the worlds only
        judge. "worlds" for the limit over them: all worlds, the more so the worse the policy does in them.
        "ca" or "da1" for the paper's adversaries, which learn beside the policy; "mopo" for a penalty on what the
        model does not know.
    penalty
        MOPO's weight: what a unit of the members' own standard deviation costs.
    branch
        Learn from episodes of so many steps that begin in logged states, as many steps as in whole episodes; by default
        from whole ones.
    hidden
        Widths of the hidden layers of policy and critics.
    clone_steps
        Gradient steps of copying what was done in the logs, before anything is learned; zero to begin with a
        random policy (not where logged steps alone teach).
    leash
        How far a policy that learns from the logged steps alone may go from that copy, in nats of relative entropy per
        column of the actions, or per choice between a few. What goes one standard deviation from what was done goes
        half a nat. It is halved after a round after which a certificate would abstain, and doubled, up to this, after
        another one.
    learning_rate
        Adam's step for policy and critics.
    entropy_learning_rate
        Adam's step for the entropy coefficient. Where logged steps alone teach, neither this nor the next is used.
    entropy_coef
        Entropy coefficient at the start, in units of the reward's standard deviation.
    discount
        Largest discount inside the critics, who use the task's if that is smaller.
    target_rate
        Share of the way that target critics go towards the critics in every step.
    batch_size
        Rows per gradient step.
    episodes
        Episodes per round that the policy learns from, in all worlds together.
    gradient_steps
        Gradient steps per round.
    replay_capacity
        Steps remembered.
    judged_episodes
        Episodes per round and world that the policy is judged by.
    max_rounds
        Most rounds.
    patience
        Rounds without a better policy before learning stops.
    """

    against: Literal["logs", "worlds", "ca", "da1", "mopo"] = "logs"
    penalty: float = 1.0
    branch: int | None = None
    hidden: Sequence[int] = (256, 256)
    clone_steps: int = 3_000
    leash: float = 0.25
    learning_rate: float = 1e-3
    entropy_learning_rate: float = 1e-3
    entropy_coef: float = 0.01
    discount: float = 0.99
    target_rate: float = 5e-3
    batch_size: int = 256
    episodes: int = 100
    gradient_steps: int = 1_000
    replay_capacity: int = 500_000
    judged_episodes: int = 50
    max_rounds: int = 40
    patience: int = 15

    def _document(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "hidden": [int(width) for width in self.hidden]}


@dataclasses.dataclass(frozen=True)
class LearnRound:
    """How good the policy was after a round, in the model's worlds."""

    bound: float
    """The worlds' mean less their spread times a factor: it orders rounds, and is no lower bound."""
    mean: float
    """What the worlds promise on average."""
    std_error: float
    """Its error over the starts."""
    worlds: list[float]
    """The mean return in every world."""
    doubts: list[str]
    """Codes of the warnings that would speak against a certificate. Such a round is not kept,
    unless it is the first, the copy, and none is without doubts."""


@dataclasses.dataclass(frozen=True)
class Learned:
    """A policy that was learned."""

    path: Path
    """Its ONNX file, which `evaluate` takes."""
    rounds: list[LearnRound]
    """The first is that of the copy of the logged policy."""
    best_round: int
    """The round whose policy was kept."""


def learn(
    model: EnsembleModel,
    out: str | os.PathLike[str],
    settings: Learner | None = None,
    *,
    horizon: int,
    delta: float = 0.05,
    reward: TransitionFunction | None = None,
    termination: TransitionFunction | None = None,
    initial_states: InitialStates = None,
    discount: float = 1.0,
    state_bounds: StateBounds | TaskName | None = None,
    reward_bounds: tuple[float, float] | None = None,
    seed: int = 0,
    progress: ProgressOption = None,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Learned:
    """Learn a policy from the logs, near what was done in them, and write it as an ONNX file.

    By default the logged steps alone teach it. The round is kept whose limit over the model's
    worlds is the highest among those that stay so close to the logs that a certificate would not abstain; if there is
    none, the copy of the logged policy.

    Worlds that chose a policy are the last to ask about it: `evaluate` calls the result inconclusive on a model
    that shares episodes with this one. Fit this model on a part of the data, and another on the rest.

    Parameters
    ----------
    model
        An ensemble.
    out
        File for the policy.
    settings
        How it is learned.
    horizon, delta, reward, termination, initial_states, discount, state_bounds, reward_bounds, progress, threads
        As for `evaluate`.
    seed
        Of all randomness.
    checkpoint
        A folder in which finished rounds are kept, so that an interrupted call goes on from there when it is repeated.
    """
    if not isinstance(model, EnsembleModel):
        raise SettingError(f"the model is {given_as(model)}; give what `hambo.fit` makes of an Ensemble")
    if settings is not None and not isinstance(settings, Learner):
        raise SettingError(f"`settings` is {given_as(settings)}; give hambo.Learner(...)")
    plan = {
        **task_document(horizon, discount, state_bounds, reward_bounds),
        "floor": None,
        "inputs": [],
        "against": None,
        "settings": {"delta": checked_finite(delta, "delta")},
    }
    seed = checked_seed(seed)
    with watched(progress) as course:
        course.begin(None, None)
        text = _native.learn(
            model._inner,
            os.fspath(out),
            json.dumps((settings or Learner())._document()),
            json.dumps(plan),
            seed,
            reward=None if reward is None else transition_function(reward, "reward"),
            termination=None if termination is None else transition_function(termination, "termination"),
            starts=starts_document(initial_states, model.state_dim),
            progress=course.listener,
            threads=checked_threads(threads),
            checkpoint=checked_folder(checkpoint),
        )
    found = json.loads(text)
    learned = Learned(Path(out), [LearnRound(**found) for found in found["rounds"]], found["best_round"])
    best = learned.rounds[learned.best_round]
    _log.info("%s: at least %.6g in the worlds of the episodes that taught it", learned.path, best.bound)
    return learned
