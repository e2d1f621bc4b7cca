"""Backtests: would the bound have held for the logs themselves?"""

from __future__ import annotations

import json
import logging
from typing import Any

from . import _native
from ._checks import checked_count, checked_finite, checked_seed, checked_threads, given_as
from ._dataset import Dataset
from ._functions import TransitionFunction, transition_function
from ._progress import ProgressOption, watched
from ._ray import on_cluster
from ._replay import Backtest
from ._settings import Ensemble, StateBounds
from ._task import task_document
from .errors import SettingError
from .tasks import TaskName

__all__ = ["backtest"]

_log = logging.getLogger("hambo")


def backtest(
    data: Dataset,
    settings: Ensemble | None = None,
    *,
    horizon: int,
    delta: float = 0.05,
    reward: TransitionFunction | None = None,
    termination: TransitionFunction | None = None,
    discount: float = 1.0,
    state_bounds: StateBounds | TaskName | None = None,
    reward_bounds: tuple[float, float] | None = None,
    range_widening: float = 0.5,
    history: int = 0,
    seed: int = 0,
    progress: ProgressOption = None,
    threads: int | None = None,
    on: str | None = None,
) -> Backtest:
    """Compare what would have been certified of the logs with what they earned.

    One source of the data after the other is left out, worlds are fitted on the rest, and the lower bound on what
    the logged policy earns is compared with what was earned. Data without sources is left out in thirds, in its
    order. It takes as long as so many fits.

    Parameters
    ----------
    data
        At least two sources of five episodes (`Dataset.with_sources`), or ten episodes.
    settings
        How the worlds are fitted.
    horizon, delta, reward, termination, discount, state_bounds, reward_bounds, progress, threads
        As for `evaluate`.
    range_widening, history, seed
        As for `fit`.
    on
        ``"ray"`` or the address of a Ray cluster: every part that is left out is a task there. As for `rank`.
    """
    if not isinstance(data, Dataset):
        raise SettingError(f"the data is {given_as(data)}; make a Dataset of it, for instance with Dataset.open")
    if settings is not None and not isinstance(settings, Ensemble):
        raise SettingError(f"`settings` is {given_as(settings)}; give hambo.Ensemble(...)")
    plan = {
        **task_document(horizon, discount, state_bounds, reward_bounds),
        "floor": None,
        "inputs": [],
        "against": None,
        "settings": {"delta": checked_finite(delta, "delta")},
    }
    model = {
        "ensemble": (settings or Ensemble())._document(),
        "range_widening": range_widening,
        "history": checked_count(history, "history"),
    }
    asked: dict[str, Any] = {
        "model": json.dumps(model),
        "plan": json.dumps(plan),
        "seed": checked_seed(seed),
        "reward": reward,
        "termination": termination,
        "threads": threads,
    }
    with watched(progress) as course:
        claims = None
        if on is not None:
            parts = enumerate(_native.backtest_parts(data._inner))
            jobs = {name: {**asked, "part": number} for number, name in parts}
            claims = list(on_cluster(on, _tested, data, jobs, course).values())
        text = _tested(data, **asked, claims=claims, progress=course)
    found = Backtest._of(json.loads(text))
    _log.info("%s", found.summary)
    return found


def _tested(
    data: Dataset,
    *,
    model: str,
    plan: str,
    seed: int,
    reward: TransitionFunction | None,
    termination: TransitionFunction | None,
    part: int | None = None,
    claims: list[str] | None = None,
    progress: ProgressOption,
    threads: int | None,
) -> str:
    """The backtest as JSON, or the claims about one part of it; with all claims, what they amount to."""
    with watched(progress) as course:
        # One fit per group that is left out, and nobody has said how many there are.
        course.begin(None, None)
        return _native.backtest(
            data._inner,
            model,
            plan,
            seed,
            part=part,
            claims=claims,
            reward=None if reward is None else transition_function(reward, "reward"),
            termination=None if termination is None else transition_function(termination, "termination"),
            progress=course.listener,
            threads=checked_threads(threads),
        )
