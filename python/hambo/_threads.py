"""How many threads compute."""

from __future__ import annotations

import os
import sys

from .errors import SettingError

__all__ = ["set_threads"]

_VARIABLE = "RAYON_NUM_THREADS"


def set_threads(count: int) -> None:
    """Compute with so many threads, instead of one per core.

    The threads are started once, by the first dataset. Call this before anything else of hambo is used, even before
    ``from hambo.tasks import ...``, or set the environment variable ``RAYON_NUM_THREADS``. No result depends on it.
    """
    if not isinstance(count, int) or count < 1:
        raise SettingError(f"`count` is {count!r}; expected a whole number, at least one")
    if os.environ.get(_VARIABLE) == str(count):
        return
    if f"{__package__}._native" in sys.modules:
        raise SettingError(
            f"it is too late for {count} threads: hambo was used already, and its threads are started once; call "
            f"set_threads right after `import hambo`, or set {_VARIABLE}={count} before the program starts"
        )
    os.environ[_VARIABLE] = str(count)
