"""Results that were found before, so that a second run does only what has changed."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import _native
from ._model import Model

_log = logging.getLogger("hambo")


class _NoName(Exception):
    """Nobody can tell whether it is the same as before."""


class Cached:
    """The place of one evaluation in a cache; nowhere, if it depends on a function.

    Parameters
    ----------
    folder
        The cache, if there is one.
    model, plan, seed
        What is evaluated, and how.
    parts
        The policy, rules and starts, as the native function takes them.
    """

    def __init__(self, folder: str | None, model: Model, plan: Mapping[str, Any], seed: int, parts: Any) -> None:
        self._folder, self._depends_on = folder, ""
        if folder is None:
            return
        try:
            named = {name: _named(part, name) for name, part in parts.items()}
        except _NoName as part:
            _log.info("not kept in the cache, because nobody can tell whether the %s is the same next time", part)
            self._folder = None
            return
        about = {"model": model._fingerprint(), "plan": plan, "seed": seed, **named}
        self._depends_on = json.dumps(about, sort_keys=True)

    def recall(self) -> str | None:
        """What was found before."""
        return None if self._folder is None else _native.cached(self._folder, self._depends_on)

    def keep(self, result: str) -> None:
        """For the next time."""
        if self._folder is not None:
            _native.cache(self._folder, self._depends_on, result)


def _named(part: Any, name: str) -> Any:
    """What is the same exactly if the part is."""
    if part is None or isinstance(part, str) and not Path(part).is_file():
        return part
    if isinstance(part, str | os.PathLike):
        return ["file", _hash(Path(part).read_bytes())]
    if isinstance(part, np.ndarray):
        return [part.dtype.str, list(part.shape), _hash(np.ascontiguousarray(part).tobytes())]
    if isinstance(part, list | tuple):
        return [_named(item, name) for item in part]
    raise _NoName(name)


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=32).hexdigest()
