"""Threads, interrupts, exceptions, memory and time."""

from __future__ import annotations

import ast
import gc
import logging
import multiprocessing
import os
import resource
import signal
import statistics
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hambo
from hambo.tasks import simulate

from .conftest import QUICK, Array, still


def test_ten_threads_get_the_same_numbers_as_one(model: hambo.Model) -> None:
    def bounds(seed: int) -> list[object]:
        found = hambo.evaluate(model, still, seed=seed, **QUICK)
        return [(variant.name, variant.estimate) for variant in found.variants.values()]

    alone = [bounds(seed) for seed in range(10)]
    with ThreadPoolExecutor(10) as threads:
        together = list(threads.map(bounds, range(10)))
    assert together == alone


def test_a_function_runs_in_the_thread_that_asked(model: hambo.Model) -> None:
    seen = set()

    def policy(states: Array) -> Array:
        seen.add(threading.get_ident())
        return still(states)

    hambo.evaluate(model, policy, **QUICK)
    assert seen == {threading.get_ident()}


def test_other_threads_run_meanwhile(data: hambo.Dataset) -> None:
    done = threading.Event()
    longest = [0.0]

    def watch() -> None:
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            longest[0] = max(longest[0], now - last)
            last = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    hambo.fit(data, hambo.Ensemble(hidden=[128, 128], max_steps=150, evaluate_every=50))
    took = time.perf_counter() - start
    done.set()
    watcher.join()
    assert longest[0] < 0.5 * took, f"blocked for {longest[0]:.2f} of {took:.2f} s"


def test_a_forked_process_computes_too(model: hambo.Model) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("there is no fork here")
    here = hambo.evaluate(model, still, **QUICK).lower_bound
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, repr(hambo.evaluate(model, still, **QUICK).lower_bound).encode())
        os._exit(0)
    os.close(writer)
    there = os.read(reader, 100)
    os.waitpid(child, 0)
    assert float(there) == here


class Broken(Exception):
    pass


def test_what_a_policy_raises_comes_out_with_its_traceback(model: hambo.Model) -> None:
    def policy(states: Array) -> Array:
        raise Broken("at the third step")

    with pytest.raises(Broken, match="at the third step") as caught:
        hambo.evaluate(model, policy, **QUICK)
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "policy"

    def reward(states: Array, actions: Array, next_states: Array) -> Array:
        raise Broken("no reward")

    with pytest.raises(Broken, match="no reward"):
        hambo.evaluate(model, still, reward=reward, **QUICK)
    # Nothing is left behind.
    assert hambo.evaluate(model, still, **QUICK).lower_bound is not None


INTERRUPTED = """
import os, signal, threading, time
import hambo
from hambo.tasks import SwingUp, simulate

def interrupt(after):
    def send():
        time.sleep(after)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=send, daemon=True).start()

sent = []
data = simulate("pendulum", SwingUp.weak(), episodes=20, horizon=100)
small = hambo.fit(data, hambo.Ensemble(hidden=[16], max_steps=50))
work = {
    "fit": lambda: hambo.fit(data),
    "fit of Gaussian processes": lambda: hambo.fit(data, hambo.GaussianProcess(likelihood_rows=2000, starts=50)),
    "rollouts": lambda: hambo.evaluate(small, SwingUp(), horizon=100_000, variants=["DS"]),
    "adversary": lambda: hambo.evaluate(small, SwingUp(), horizon=100),
}
for name, job in work.items():
    interrupt(1.0)
    try:
        job()
    except KeyboardInterrupt:
        print(f"{name}: {time.perf_counter() - sent.pop():.3f}")
"""


def test_an_interrupt_stops_any_work_within_a_second() -> None:
    found = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True, timeout=300)
    delays = dict(line.split(": ") for line in found.stdout.splitlines())
    assert list(delays) == ["fit", "fit of Gaussian processes", "rollouts", "adversary"], found.stdout
    assert all(float(delay) < 1.0 for delay in delays.values()), delays


def resident() -> float:
    """Mebibytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_repeated_fits_and_evaluations_do_not_grow(data: hambo.Dataset, caplog: pytest.LogCaptureFixture) -> None:
    # Captured records would grow instead.
    caplog.set_level(logging.CRITICAL, logger="hambo")

    def once(seed: int) -> None:
        model = hambo.fit(data, hambo.Ensemble(members=2, hidden=[16], max_steps=5, evaluate_every=5), seed=seed)
        hambo.evaluate(model, still, horizon=5, episodes=50, variants=["DAinf", "DS"], seed=seed)

    for seed in range(30):
        once(seed)
    gc.collect()
    before = resident()
    for seed in range(200):
        once(seed)
    gc.collect()
    grown = resident() - before
    # One model's data and networks take about 0.1 MiB: a leak of them would show as 20 MiB.
    assert grown < 10, f"{grown:.1f} MiB more after 200 rounds"


def test_a_callable_costs_less_than_5_percent_of_a_rollout(data: hambo.Dataset) -> None:
    def policy(states: Array) -> Array:
        return -0.1 * states[:, 2:]

    def seconds(work: Callable[[], object]) -> float:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return min(times)

    # Networks of the usual size; it does not matter what they learned.
    model = hambo.fit(data, hambo.Ensemble(max_steps=1, evaluate_every=1))
    rollout = seconds(lambda: hambo.evaluate(model, policy, horizon=20, episodes=1000, variants=["DS"])) / 20
    # The true dynamics take next to no time, so all of this may as well be the call.
    call = seconds(lambda: simulate("pendulum", policy, episodes=1000, horizon=500)) / 500
    print(f"step of a rollout: {1e3 * rollout:.2f} ms; call of a policy at most {1e6 * call:.0f} us")
    assert call < 0.05 * rollout


def median_times(program: str) -> tuple[float, float]:
    """Processor and wall time of fresh processes, in seconds."""
    found = []
    for _ in range(7):
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall))
    processor, wall = (statistics.median(times) for times in zip(*found, strict=True))
    return processor, wall


def test_importing_takes_less_than_150_ms() -> None:
    # With the interpreter's own start. On first use NumPy and the native library follow, see `benchmarks`.
    processor, wall = median_times("import hambo")
    assert processor < 0.15 and wall < 0.15, f"{processor:.3f} s of processor time, {wall:.3f} s in all"


def test_importing_loads_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import hambo; print(sorted(set(sys.modules) - before))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['hambo']"


def test_every_public_name_is_found_where_type_checkers_look_for_it() -> None:
    tree = ast.parse(Path(hambo.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (node.module, name.name) for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names
    }
    homes = {(module, name) for module, names in hambo._HOMES.items() for name in names}
    assert imported == homes | {(None, "errors"), (None, "tasks"), (None, "trackers")}
    assert sorted(name for _, name in imported) == sorted(hambo.__all__)
    for name in hambo.__all__:
        assert name in dir(hambo) and getattr(hambo, name) is not None
    with pytest.raises(AttributeError, match="no attribute `evaluates`"):
        hambo.evaluates  # type: ignore[attr-defined]  # noqa: B018


def test_no_optional_package_is_imported() -> None:
    program = textwrap.dedent("""
        import sys
        from hambo import *
        optional = {"tqdm", "matplotlib", "gymnasium", "minari", "torch", "polars", "pyarrow", "pandas"}
        print(sorted(optional & set(sys.modules)))
    """)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_interrupts_in_a_policy_come_out(model: hambo.Model) -> None:
    def policy(states: Array) -> Array:
        signal.raise_signal(signal.SIGINT)
        return still(states)

    with pytest.raises(KeyboardInterrupt):
        hambo.evaluate(model, policy, **QUICK)
