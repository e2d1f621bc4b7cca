"""Signs of life: a bar where somebody looks, a callback for everybody else."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from .errors import SettingError

__all__ = ["Progress"]


class Progress(NamedTuple):
    """One sign of life."""

    stage: str
    """What is being done."""
    step: int
    """Steps done so far."""
    of: int
    """Steps at the most; a stage may end earlier."""
    metric: tuple[str, float] | None
    """The number worth watching, with its name."""


ProgressOption: TypeAlias = "Callable[[Progress], object] | bool | None"
"""A callback, True or False for a bar or none, or None to decide by where it would be shown."""

Report = Callable[[str, int, int, "tuple[str, float] | None"], object]


@contextlib.contextmanager
def reporter(progress: ProgressOption) -> Iterator[Report | None]:
    """What the native functions report to while the context lasts."""
    if callable(progress):
        callback = progress
        yield lambda *event: callback(Progress(*event))
        return
    if progress is False or (progress is None and not _somebody_looks()):
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress:
            raise SettingError("a progress bar needs tqdm: `pip install tqdm`") from None
        yield None
        return
    bar = _Bar(tqdm)
    try:
        yield bar.report
    finally:
        bar.close()


def _somebody_looks() -> bool:
    in_notebook = "ipykernel" in sys.modules
    stderr = sys.stderr
    return in_notebook or (stderr is not None and stderr.isatty())


class _Bar:
    """One bar per stage."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._bar: Any = None
        self._stage = ""

    def report(self, stage: str, step: int, of: int, metric: tuple[str, float] | None) -> None:
        if self._bar is None or stage != self._stage or of != self._bar.total or step < self._bar.n:
            self.close()
            self._stage = stage
            self._bar = self._make(total=of, desc=stage, leave=False)
        self._bar.update(step - self._bar.n)
        if metric is not None:
            self._bar.set_postfix({metric[0]: f"{metric[1]:.4g}"}, refresh=False)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
