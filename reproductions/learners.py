"""Policies that hambo and others learn from the same logs, and what they earn in truth.

    python reproductions/learners.py [--only hopper] [--data medium] [--rows 100000] [--learners logs td3_bc]

Data sets are made as D4RL's were: `random` by uniform actions, `medium` by a SAC that was stopped early. All rows
teach, because nothing is certified here. hambo learns by default settings, against whom the name says; d3rlpy's
learners have its default settings, standardised observations, and as much processor time as hambo's default, `logs`,
took for fit and learning. Scores are D4RL's: 0 for its random policy and 100 for its expert. One row each in
`results/learners.csv`, from which a stopped run goes on; `logs` runs first. `--short` gives hambo's learners a quarter
of the steps of a fit and 12 rounds instead of 40, and d3rlpy's the time that takes; its table is
`results/learners_short.csv`. Needs d3rlpy for its learners.
"""

import argparse
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import onnxruntime
import pyarrow
from data import logged
from environments import ENVIRONMENTS, Actor, Behaviour, Environment, played
from tidy import Row, read_rows, write_rows

import hambo

RESULTS = Path(__file__).parent / "results"
OURS = ["logs", "worlds", "ca", "da1", "mopo"]
PEERS = ["bc", "td3_bc", "cql", "iql"]
MEDIUM = 80_000
"""Training steps of the policy behind `medium`."""
REFERENCES = {"hopper": (-20.272305, 3234.3), "halfcheetah": (-280.178953, 12135.0)}
"""Returns of D4RL's random policy and of its expert, on the environments' earlier versions."""
EPISODES = 100
HORIZON = 1_000
STEPS_BETWEEN_LOOKS = 1_000
SHORT = {"max_steps": 2_000}, {"max_rounds": 12}
"""Of the fit and of the learner, with `--short`."""
COLUMNS = [
    *("environment", "data", "rows", "seed", "learner", "steps", "processor_seconds", "logged", "truth"),
    *("truth_error", "score"),
]


def logs(environment: Environment, data: str, rows: int, seed: int) -> pyarrow.Table:
    """Transitions of one policy."""
    space = environment.make().action_space

    def anything(observations: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(space.low, space.high, (len(observations), len(space.low))).astype(np.float32)

    behaviour = anything if data == "random" else Actor(environment, MEDIUM, stochastic=True)
    return pyarrow.table(logged(environment, behaviour, rows, seed))


def shared_model(table: pyarrow.Table, folder: Path, seed: int, is_short: bool) -> tuple[hambo.Model, float]:
    """The model that all of hambo's learners learn in, and the processor time of its fit."""
    clock = folder / "processor_seconds"
    if clock.exists():
        return hambo.load(folder / "model"), float(clock.read_text(encoding="utf-8"))
    begun = time.process_time()
    ensemble = hambo.Ensemble(**(SHORT[0] if is_short else {}))
    model = hambo.fit(hambo.Dataset.from_arrow(table), ensemble, seed=seed, threads=1, progress=False)
    seconds = time.process_time() - begun
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "model")
    clock.write_text(str(seconds), encoding="utf-8")
    return model, seconds


def by_hambo(
    environment: Environment, model: hambo.Model, against: Any, seed: int, is_short: bool
) -> tuple[Behaviour, int]:
    """The policy, and after how many rounds it was best."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.onnx"
        found = hambo.learn(
            model,
            path,
            hambo.Learner(against=against, **(SHORT[1] if is_short else {})),
            horizon=HORIZON,
            termination=environment.termination,
            seed=seed,
            threads=1,
            progress=False,
        )
        session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return lambda states, _: session.run(None, {"observation": states.astype(np.float32)})[0], found.best_round


def by_peer(
    environment: Environment, table: pyarrow.Table, name: str, seed: int, seconds: float
) -> tuple[Behaviour, int]:
    """The policy of a learner of d3rlpy after so much processor time, and its gradient steps."""
    import d3rlpy
    from d3rlpy_logs import as_d3rlpy

    data, scalers = as_d3rlpy(environment, table)
    configs = {
        "bc": d3rlpy.algos.BCConfig,
        "td3_bc": d3rlpy.algos.TD3PlusBCConfig,
        "cql": d3rlpy.algos.CQLConfig,
        "iql": d3rlpy.algos.IQLConfig,
    }
    d3rlpy.seed(seed)
    learner = configs[name](**scalers).create(device="cpu:0")
    begun, steps = time.process_time(), 0
    for _ in learner.fitter(
        data,
        n_steps=10**9,
        n_steps_per_epoch=STEPS_BETWEEN_LOOKS,
        show_progress=False,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
    ):
        steps += STEPS_BETWEEN_LOOKS
        if time.process_time() - begun >= seconds:
            break
    return lambda states, _: learner.predict(states.astype(np.float32)), steps


def learned(
    name: str, data: str, rows: int, seed: int, learner: str, seconds: float | None, models: Path, is_short: bool
) -> Row:
    """One row of the table."""
    environment = ENVIRONMENTS[name]
    table = logs(environment, data, rows, seed)
    if learner in OURS:
        model, of_fit = shared_model(table, models / f"{name}-{data}-{rows}-seed{seed}", seed, is_short)
        begun = time.process_time()
        policy, steps = by_hambo(environment, model, learner, seed, is_short)
        spent = of_fit + time.process_time() - begun
    else:
        assert seconds is not None
        begun = time.process_time()
        policy, steps = by_peer(environment, table, learner, seed, seconds)
        spent = time.process_time() - begun
    returns = played(environment, policy, episodes=EPISODES, steps=HORIZON, seed=7_000_000 + seed).sum(axis=1)
    truth, error = float(returns.mean()), float(returns.std(ddof=1) / np.sqrt(EPISODES))
    worst, best = REFERENCES[name]
    row: Row = {"environment": name, "data": data, "rows": rows, "seed": seed, "learner": learner, "steps": steps}
    row |= {"processor_seconds": round(spent, 1), "truth": truth, "truth_error": error}
    episodes = len(np.unique(table["episode"].to_numpy()))
    row |= {"logged": float(np.sum(table["reward"].to_numpy()) / episodes)}
    return row | {"score": round(100 * (truth - worst) / (best - worst), 1)}


def place(row: Row) -> tuple[int, str, int, int, int]:
    order = list(REFERENCES)
    learner = [*OURS, *PEERS].index(row["learner"])
    return order.index(row["environment"]), row["data"], int(row["rows"]), int(row["seed"]), learner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=REFERENCES, default=list(REFERENCES))
    parser.add_argument("--data", nargs="*", choices=["random", "medium"], default=["random", "medium"])
    parser.add_argument("--rows", nargs="*", type=int, default=[100_000])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--learners", nargs="*", choices=[*OURS, *PEERS], default=[*OURS, *PEERS])
    parser.add_argument("--out", type=Path, default=Path("reproductions-out"), help="keeps the models")
    parser.add_argument("--short", action="store_true", help="less of everything, into a table of its own")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    table = "learners_short" if arguments.short else "learners"
    models, results = arguments.out / table, arguments.results or RESULTS / f"{table}.csv"
    for seed in arguments.seeds:
        for name in arguments.only:
            for data in arguments.data:
                for rows in arguments.rows:
                    for learner in sorted(arguments.learners, key=[*OURS, *PEERS].index):
                        add(name, data, rows, seed, learner, models, results, arguments.short)


def add(name: str, data: str, rows: int, seed: int, learner: str, models: Path, results: Path, is_short: bool) -> None:
    """Adds a row, unless it is there."""
    known = {place(row): row for row in read_rows(results)}
    unit: Row = {"environment": name, "data": data, "rows": rows, "seed": seed, "learner": learner}
    if place(unit) in known:
        return
    first = known.get(place({**unit, "learner": OURS[0]}))
    if learner in PEERS and first is None:
        raise SystemExit(f"{name} {data} {rows} {seed}: run `{OURS[0]}` first, whose time the others have")
    seconds = None if first is None else float(first["processor_seconds"])
    # A process of its own, whose time is counted from its start.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        row = pool.submit(learned, name, data, rows, seed, learner, seconds, models, is_short).result()
    write_rows(results, [*read_rows(results), row], COLUMNS, place)
    print(row, flush=True)


if __name__ == "__main__":
    main()
