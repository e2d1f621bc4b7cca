"""Work on a Ray cluster: independent calls as tasks, with the same results as in one process."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ._progress import Course, Progress
from .errors import SettingError

__all__ = ["on_cluster"]

_log = logging.getLogger("hambo")

RETRIES = 100
"""How often a task is begun again whose process or machine has died. What it raises itself is not tried again."""

LOOKS_EVERY = 2.0
"""Seconds between two looks at how far all tasks are."""


def on_cluster(
    on: str,
    function: Callable[..., Any],
    shared: Any,
    jobs: Mapping[str, Mapping[str, Any]],
    course: Course,
) -> dict[str, Any]:
    """Results of ``function(shared, **job)`` by the names of the jobs.

    A job's `threads` says how many cores it takes. Policies that are files travel with it.
    """
    ray = _connected(on)
    common = ray.put(shared)
    board = ray.remote(_Board).options(num_cpus=0).remote()
    task = ray.remote(_work)
    waiting = {}
    found: dict[str, Any] = {}
    begun = time.perf_counter()
    try:
        for name, job in jobs.items():
            cores = job.get("threads") or 1
            begin = task.options(num_cpus=cores, max_retries=RETRIES, name=name)
            waiting[begin.remote(function, common, name, _packed({**job, "threads": cores}), board)] = name
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1, timeout=LOOKS_EVERY)
            for reference in ready:
                name = waiting.pop(reference)
                found[name] = _result(ray, reference, name)
            news = ray.get(board.news.remote(list(waiting.values())))
            course.tasks(len(found), len(jobs), news, time.perf_counter() - begun)
    except BaseException:
        for reference in waiting:
            # Running ones are interrupted as by Ctrl-C; others never begin.
            with contextlib.suppress(Exception):
                ray.cancel(reference, force=False)
        raise
    finally:
        with contextlib.suppress(Exception):
            ray.kill(board)
    return {name: found[name] for name in jobs}


def _connected(on: str) -> Any:
    """Ray, connected to the cluster: the running one, the one of this machine, or the one at an address."""
    if not isinstance(on, str) or not on:
        raise SettingError(f"`on` is {on!r}; give 'ray', or the address of a Ray cluster")
    try:
        import ray as found
    except ImportError as error:
        raise SettingError("`on` needs Ray: pip install 'hambo[ray]'") from error
    ray: Any = found
    if not ray.is_initialized():
        try:
            ray.init(address=None if on == "ray" else on, logging_level=logging.WARNING, log_to_driver=False)
        except ConnectionError as error:
            raise SettingError(
                f"`on` is {on!r}, and that Ray cluster cannot be reached; is it running, with the same version of Ray? "
                "If it wants a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here as well"
            ) from error
        _log.info("connected to Ray, %g cores", ray.cluster_resources().get("CPU", 0))
    return ray


def _result(ray: Any, reference: Any, name: str) -> Any:
    """A task's own exception, and not Ray's picture of it."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, BaseException) else error
        cause.add_note(f"in the task `{name}` on Ray") if hasattr(cause, "add_note") else None
        raise cause from None


class _File(NamedTuple):
    """A policy's file, which travels with a task, because another machine may not have it."""

    name: str
    content: bytes

    @classmethod
    def of(cls, policy: Any) -> Any:
        """The same, if it is not the path of a file."""
        if isinstance(policy, str | os.PathLike) and Path(policy).is_file():
            return cls(Path(policy).name, Path(policy).read_bytes())
        return policy

    def placed(self, folder: str, number: int) -> str:
        """Its path on a machine that it has come to."""
        path = Path(folder) / str(number) / self.name
        path.parent.mkdir()
        path.write_bytes(self.content)
        return str(path)


class _Board:
    """Where tasks say how far they are."""

    def __init__(self) -> None:
        self._news: dict[str, float] = {}

    def tell(self, name: str, seconds_left: float) -> None:
        self._news[name] = seconds_left

    def news(self, names: list[str]) -> dict[str, float]:
        return {name: self._news[name] for name in names if name in self._news}


def _work(function: Callable[..., Any], shared: Any, name: str, job: dict[str, Any], board: Any) -> Any:
    """In a process of the cluster."""
    last = time.perf_counter()

    def report(event: Progress) -> None:
        nonlocal last
        if event.seconds_left is not None and time.perf_counter() - last > LOOKS_EVERY:
            last = time.perf_counter()
            board.tell.remote(name, event.seconds_left)

    with tempfile.TemporaryDirectory(prefix="hambo-") as folder:
        return function(shared, **_unpacked(job, folder), progress=report)


def _packed(job: dict[str, Any]) -> dict[str, Any]:
    """With files in place of their paths, and folders from the root."""
    packed = dict(job)
    for name in ("policy", "against"):
        if name in packed:
            packed[name] = _File.of(packed[name])
    if "policies" in packed:
        packed["policies"] = [_File.of(policy) for policy in packed["policies"]]
    for name in ("cache", "checkpoint"):
        if packed.get(name) is not None:
            packed[name] = str(Path(packed[name]).absolute())
    return packed


def _unpacked(job: dict[str, Any], folder: str) -> dict[str, Any]:
    """Files that have travelled are files again for a while."""
    count = itertools.count()

    def placed(value: Any) -> Any:
        return value.placed(folder, next(count)) if isinstance(value, _File) else value

    unpacked = {name: placed(value) for name, value in job.items()}
    if "policies" in job:
        unpacked["policies"] = [placed(policy) for policy in job["policies"]]
    return unpacked
