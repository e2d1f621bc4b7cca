"""Independent units of work side by side: in processes of this machine, or on a Ray cluster."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Protocol


class Lanes(Protocol):
    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]: ...


@contextmanager
def lanes(processes: int | None, on: str | None = None) -> Iterator[Lanes]:
    """So many processes or, with "ray" or the address of a Ray cluster, all cores there."""
    if on is not None:
        yield _RayLanes(on)
        return
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=leave_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def leave_with_parent() -> None:
    """Workers end when the run does, however it ends; an interruption is for the run to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _RayLanes:
    def __init__(self, on: str) -> None:
        import ray

        # Tasks import the scripts' own modules, and have one thread each, as processes do.
        names = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        variables = {name: os.environ[name] for name in names if name in os.environ}
        variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        if not ray.is_initialized():
            ray.init(address=None if on == "ray" else on, log_to_driver=False)
        self._ray, self._environment = ray, {"env_vars": variables}

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        task = self._ray.remote(function).options(num_cpus=1, max_retries=100, runtime_env=self._environment)
        future: Future[Any] = task.remote(*arguments).future()
        return future
