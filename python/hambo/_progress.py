"""Signs of life: a bar where somebody looks, a callback for everybody else, and how long it will take."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from .errors import SettingError

__all__ = ["Progress"]

_log = logging.getLogger("hambo")


class Progress(NamedTuple):
    """One sign of life."""

    stage: str
    """What is being done."""
    step: int
    """Steps done so far."""
    of: int
    """Steps at most; a stage may end earlier."""
    metric: tuple[str, float] | None
    """The number worth watching, with its name."""
    policy: str | None = None
    """The policy that is evaluated."""
    seconds_left: float | None = None
    """About how long all of the work still takes, at the speed so far; None while that cannot be told.

    A fit may stop before its last step, and how long an adversary trains is not known.
    """
    part: str | None = None
    """What is bounded, and by what, such as ``"return, worlds"``; None while a model is fitted."""


ProgressOption: TypeAlias = "Callable[[Progress], object] | bool | Course | None"
"""A callback, True or False for a bar or none, or None to decide by where it would be shown."""


class Course:
    """All of the work: one fit, or the evaluations of one or more policies.

    Parameters
    ----------
    show
        Who is told.
    policies
        How many there are.
    prints
        Whether the line about how long it takes is printed, where there is no bar, instead of logged.
    """

    def __init__(self, show: Callable[[Progress], object] | None, policies: int = 1, *, prints: bool = False) -> None:
        self._show, self._policies, self._prints = show, policies, prints
        self._policy: str | None = None
        self._passes: int | None = 1
        self._finished: list[float] = []
        self._announced = False
        self._begin_now()

    def begin(self, policy: str | None, passes: int | None) -> None:
        """The next policy, with how many times the stage with most steps is gone through, if that is known."""
        self._policy, self._passes = policy, passes
        self._begin_now()

    def expect(self, policies: int) -> None:
        """There are so many."""
        self._policies = policies

    def tasks(self, finished: int, of: int, left: Mapping[str, float], seconds: float) -> None:
        """So many tasks of a cluster are finished after these seconds; what running ones say of the seconds left."""
        usual = seconds * max(len(left), 1) / finished if finished else None
        queued = of - finished - len(left)
        running = max(left.values(), default=None)
        self._policy = None
        seconds_left = running
        if usual is not None and queued > 0:
            seconds_left = (sum(left.values()) + queued * usual) / max(len(left), 1)
        if self._show is not None:
            self._show(Progress("tasks", finished, of, None, None, seconds_left))

    def end(self) -> None:
        """That was this policy."""
        self._finished.append(time.perf_counter() - self._begun)

    def report(self, stage: str, step: int, of: int, metric: tuple[str, float] | None, part: str | None = None) -> None:
        """What the native functions call."""
        left = self._left(stage, step, of)
        self._announce(stage, left)
        if self._show is not None:
            self._show(Progress(stage, step, of, metric, self._policy, left, part))

    @property
    def listener(self) -> Callable[[str, int, int, tuple[str, float] | None, str | None], None] | None:
        """The same, or None if nobody would hear of it."""
        somebody = self._show is not None or self._prints or _log.isEnabledFor(logging.INFO)
        return self.report if somebody else None

    def _begin_now(self) -> None:
        self._begun = time.perf_counter()
        self._first: tuple[float, float] | None = None
        self._last, self._pass = ("", 0), 0

    def _left(self, stage: str, step: int, of: int) -> float | None:
        """Seconds left in all: of this policy by the speed since its first sign of life, of the others by this one."""
        elapsed = time.perf_counter() - self._begun
        usual = sum(self._finished) / len(self._finished) if self._finished else None
        remaining = self._remaining(stage, step, of)
        if remaining is None:
            if usual is None:
                return None
            remaining = max(usual - elapsed, 0.0)
        ahead = self._policies - len(self._finished) - 1
        return remaining + ahead * (elapsed + remaining if usual is None else usual)

    def _remaining(self, stage: str, step: int, of: int) -> float | None:
        """Seconds left of this policy, or of the fit."""
        if self._passes is None or stage not in ("fit", "final rollouts"):
            # Rounds of an adversary end when it no longer improves, which nobody can know.
            return None
        if stage == self._last[0] and step < self._last[1]:
            self._pass += 1
        self._last = (stage, step)
        share = min((self._pass + step / max(of, 1)) / self._passes, 1.0)
        now = time.perf_counter()
        if self._first is None:
            self._first = (now, share)
        seconds, done = now - self._first[0], share - self._first[1]
        # The first steps are no measure of the others.
        return None if seconds < 1.0 or done <= 0.0 else seconds / done * (1.0 - share)

    def _announce(self, stage: str, left: float | None) -> None:
        if left is None or self._announced or time.perf_counter() - self._begun < 2.0:
            return
        self._announced = True
        what = f"{self._policies} policies" if self._policies > 1 else self._policy or stage
        line = f"{what}: about {duration(left)} left, or less, at the speed so far"
        if self._prints:
            print(line, file=sys.stderr)
        else:
            _log.info("%s", line)


@contextlib.contextmanager
def watched(progress: ProgressOption, policies: int = 1) -> Iterator[Course]:
    """Work that reports to whoever was asked for, for as long as the context lasts."""
    if isinstance(progress, Course):
        yield progress
    elif callable(progress):
        yield Course(progress, policies)
    elif progress is False or (progress is None and not _somebody_looks()):
        yield Course(None, policies)
    else:
        bar = _Bar.of_tqdm()
        if bar is None and progress:
            raise SettingError("a progress bar needs tqdm: `pip install tqdm`")
        try:
            yield Course(None if bar is None else bar.show, policies, prints=bar is None)
        finally:
            if bar is not None:
                bar.close()


def duration(seconds: float) -> str:
    """As precise as anyone cares."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 60} min" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def _somebody_looks() -> bool:
    in_notebook = "ipykernel" in sys.modules
    stderr = sys.stderr
    return in_notebook or (stderr is not None and stderr.isatty())


class _Bar:
    """One bar per policy and stage."""

    # Its own guess would be about the stage only, beside ours about all of the work.
    FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._bar: Any = None
        self._title = ""

    @classmethod
    def of_tqdm(cls) -> _Bar | None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        return cls(tqdm)

    def show(self, event: Progress) -> None:
        title = ": ".join(filter(None, [event.policy, event.part, event.stage]))
        if self._bar is None or title != self._title or event.of != self._bar.total or event.step < self._bar.n:
            self.close()
            self._title = title
            self._bar = self._make(total=event.of, desc=title, leave=False, bar_format=self.FORMAT)
        self._bar.update(event.step - self._bar.n)
        postfix = {} if event.metric is None else {event.metric[0]: f"{event.metric[1]:.4g}"}
        if event.seconds_left is not None:
            postfix["left in all"] = duration(event.seconds_left)
        self._bar.set_postfix(postfix, refresh=False)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
