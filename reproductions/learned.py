"""Policies that are learned from mediocre logs, what they earn in truth, and what is certified of them.

    python reproductions/learned.py [--seeds 0 1 2 3 4]

Half of the logs of Pendulum (n = 10^4, policies that do not swing up) teach a policy; worlds of the other half judge
it. Everything is as by default. One row per seed in `results/learned.csv`, from which a stopped run goes on. Seed 50
is for tuning.
"""

import argparse
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

# One thread per process: there are more seeds than cores.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
import onnxruntime
from data import transitions
from environments import ENVIRONMENTS
from tidy import Row, read_rows, write_rows

import hambo

RESULTS = Path(__file__).parent / "results" / "learned.csv"
ROWS = 10_000
EPISODES = 10_000
COLUMNS = [
    *("environment", "rows", "seed", "best_logged", "copied", "promised", "truth", "truth_error"),
    *("bound", "verdict", "reasons", "better_by", "certified_better", "best_round", "learn_seconds", "seconds"),
]


def learned(name: str, seed: int) -> Row:
    """One row of the table."""
    environment, begun = ENVIRONMENTS[name], time.monotonic()
    data = hambo.Dataset.from_arrow(transitions(environment, "mixed", ROWS, seed), source_column="source")
    teaching, rest = data.split(0.5, seed=seed)
    task = {
        "horizon": environment.unit_horizon,
        "reward": environment.reward,
        "termination": environment.termination,
        "state_bounds": environment.state_bounds,
        "initial_states": environment.initial_states(10_000, seed=1_000 + seed),
        "seed": seed,
        "progress": False,
    }
    ensemble = hambo.Ensemble(learn_reward=environment.reward is None)
    teacher = hambo.fit(teaching, ensemble, seed=seed, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.onnx"
        started = time.monotonic()
        found = hambo.learn(teacher, path, **task)
        learn_seconds = time.monotonic() - started
        judge = hambo.fit(rest, ensemble, seed=1_000 + seed, progress=False)
        result = hambo.evaluate(judge, str(path), against="logged", margin=0.0, **task)
        truth, error = true_return(name, path, seed)
    sources = np.array(data.sources)
    returns = data.returns
    best_logged = max(returns[sources == source].mean() for source in np.unique(sources))
    assert result.lower_bound is not None and result.improvement is not None
    return {
        "environment": name,
        "rows": ROWS,
        "seed": seed,
        "best_logged": best_logged,
        "copied": found.rounds[0].mean,
        "promised": found.rounds[found.best_round].bound,
        "truth": truth,
        "truth_error": error,
        "bound": result.lower_bound,
        "verdict": result.verdict(result.lower_bound),
        "reasons": " ".join(sorted({warning.code for warning in result.warnings if warning.disqualifies})),
        "better_by": result.improvement.lower_bound,
        "certified_better": result.verdict(None) == "certified",
        "best_round": found.best_round,
        "learn_seconds": round(learn_seconds, 1),
        "seconds": round(time.monotonic() - begun, 1),
    }


def true_return(name: str, path: Path, seed: int) -> tuple[float, float]:
    """Mean and standard error over episodes of the environment itself, other ones for every seed."""
    environment = ENVIRONMENTS[name]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    envs = [environment.make() for _ in range(EPISODES)]
    first = 7_000_000 + EPISODES * seed
    states = np.array([env.reset(seed=first + index)[0] for index, env in enumerate(envs)], dtype=np.float32)
    totals, alive = np.zeros(EPISODES), np.ones(EPISODES, dtype=bool)
    for _ in range(environment.unit_horizon):
        [actions] = session.run(None, {"observation": states})
        for index in np.nonzero(alive)[0]:
            states[index], reward, terminated, _, _ = envs[index].step(actions[index])
            totals[index] += reward
            alive[index] = not terminated
    return float(totals.mean()), float(totals.std(ddof=1) / np.sqrt(EPISODES))


def place(row: Row) -> tuple[str, int]:
    return row["environment"], int(row["seed"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="*", type=int, default=range(5))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    done = {place(row) for row in read_rows(arguments.results)}
    missing = [("pendulum", seed) for seed in arguments.seeds if ("pendulum", seed) not in done]
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for job in as_completed([pool.submit(learned, *unit) for unit in missing]):
            # Read again, because another run may have written meanwhile.
            write_rows(arguments.results, [*read_rows(arguments.results), job.result()], COLUMNS, place)
            print(job.result(), flush=True)


if __name__ == "__main__":
    main()
