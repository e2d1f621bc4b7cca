"""Policies that hambo learned from half of a system's logs: is what worlds of the other half certify true?

    python reproductions/zoo/learned.py [--only fork] [--seeds 22 23] [--against worlds]

By default as `hambo.learn` does. One row per system and seed in `results/learned.csv`, from which a stopped run goes
on. Tuning seeds need --results.
"""

import argparse
import dataclasses
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
# One thread per process: the units are many and small.
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import onnxruntime
import unit
from system import TRUTH_EPISODES, TRUTH_SEEDS, Array, Policy, System, make_logs, simulated_return
from systems import SYSTEMS
from tidy import Row, read_rows, write_rows

import hambo

RESULTS = Path(__file__).parent / "results" / "learned.csv"
LEARNER = hambo.Learner(
    hidden=(64, 64),
    clone_steps=1_000,
    episodes=60,
    gradient_steps=400,
    max_rounds=15,
    patience=8,
)
"""Small enough that learning takes a minute."""
COLUMNS = [
    *("system", "seed", "truth", "truth_error", "copied", "promised", "best_round", "logged_truth", "bound", "verdict"),
    *("reasons", "warnings", "neutral", "spread", "factor", "noise", "outside_data", "improvement", "seconds"),
]


def taught(system: System, seed: int, against: str, path: Path) -> tuple[hambo.Learned, hambo.Model]:
    """What half of the logs teach, and the worlds of the other half."""
    ensemble = unit.read_settings()["ensemble"]
    ensemble = hambo.Ensemble(learn_reward=system.learns_reward, tables=system.names_states, **ensemble)
    halves = make_logs(system, seed).dataset(system).split(0.5, seed=seed)
    teacher, judge = (hambo.fit(half, ensemble, seed=seed, progress=False) for half in halves)
    found = hambo.learn(
        teacher,
        path,
        dataclasses.replace(LEARNER, against=against),
        horizon=system.horizon,
        reward=None if system.learns_reward else system.reward,
        termination=system.ended if system.ends else None,
        seed=seed,
        progress=False,
    )
    return found, judge


def learned(name: str, seed: int, against: str) -> Row:
    """One row."""
    system, begun = SYSTEMS[name], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.onnx"
        found, judge = taught(system, seed, against, path)
        row = unit.evaluate(system, judge, str(path), seed, unit.read_settings(), {})
        truth, error = simulated_return(system, actor(path), TRUTH_SEEDS[0], TRUTH_EPISODES)
    said = {"system": name, "seed": seed, "truth": truth, "truth_error": error}
    said |= {"copied": found.rounds[0].mean, "promised": found.rounds[found.best_round].bound}
    said |= {"best_round": found.best_round, "logged_truth": unit.logged_truth(system)}
    row |= said | {"seconds": round(time.monotonic() - begun, 1)}
    return {column: row[column] for column in COLUMNS}


def actor(path: Path) -> Policy:
    """What the file does, by another runtime."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def act(states: Array) -> Array:
        [actions] = session.run(None, {"observation": states.astype(np.float32)})
        return np.asarray(actions, dtype=float)

    return act


def place(row: Row) -> tuple[int, int]:
    return list(SYSTEMS).index(row["system"]), int(row["seed"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[22, 23])
    parser.add_argument("--against", default=LEARNER.against)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if arguments.results == RESULTS and min(arguments.seeds) < 10:
        sys.exit("seeds below 10 are for tuning; give --results")
    done = {place(row) for row in read_rows(arguments.results)}
    units = [(name, seed) for seed in arguments.seeds for name in arguments.only]
    missing = [job for job in units if place({"system": job[0], "seed": job[1]}) not in done]
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        running = {pool.submit(learned, *job, arguments.against): job for job in missing}
        for job in as_completed(running):
            try:
                row = job.result()
            except Exception as error:  # the others are worth finishing
                print(*running[job], "FAILED:", error, flush=True)
                continue
            # Read again, because another run may have written meanwhile.
            write_rows(arguments.results, [*read_rows(arguments.results), row], COLUMNS, place)
            print({name: row[name] for name in ("system", "seed", "truth", "bound", "verdict", "seconds")}, flush=True)


if __name__ == "__main__":
    main()
