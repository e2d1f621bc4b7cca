"""Fitted Q evaluation by hambo and by d3rlpy, of the same policy on the same logs, beside the truth.

    python reproductions/fqe_d3rlpy.py [--seeds 0 1 2 3 4]

A linear system with quadratic rewards, discounted so that the horizon hardly matters, because d3rlpy's has none. The
policy is d3rlpy's behaviour cloning of another controller than the logged one. One row per seed in
`results/fqe_d3rlpy.csv`. Needs d3rlpy.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import d3rlpy
import numpy as np
from tidy import Row, write_rows

import hambo

RESULTS = Path(__file__).parent / "results" / "fqe_d3rlpy.csv"
EPISODES, STEPS, DISCOUNT = 150, 60, 0.9
MEMBERS = 5
"""Value functions of d3rlpy with seeds of their own, whose spread is its error."""
COLUMNS = ["seed", "logged", "truth", "hambo", "hambo_error", "d3rlpy", "d3rlpy_error"]


def played(act, rng: np.random.Generator, episodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """States, actions, rewards and next states, each ``[episodes, steps]``."""
    states, actions, rewards, following = (np.zeros((episodes, STEPS)) for _ in range(4))
    x = rng.standard_normal(episodes)
    for step in range(STEPS):
        u = act(x)
        states[:, step], actions[:, step] = x, u
        rewards[:, step] = 1.0 - x**2 - 0.1 * u**2
        x = 0.95 * x + 0.3 * u + 0.1 * rng.standard_normal(episodes)
        following[:, step] = x
    return states, actions, rewards, following


def cloned() -> d3rlpy.algos.BC:
    """Acts as u = -1.5 x, as far as behaviour cloning gets there."""
    d3rlpy.seed(0)
    x = np.random.default_rng(0).uniform(-4, 4, (20_000, 1)).astype(np.float32)
    data = d3rlpy.dataset.MDPDataset(x, -1.5 * x, np.zeros(len(x)), np.zeros(len(x)), np.arange(len(x)) % 100 == 99)
    scaler = d3rlpy.preprocessing.MinMaxActionScaler(minimum=[-6.0], maximum=[6.0])
    learner = d3rlpy.algos.BCConfig(batch_size=256, action_scaler=scaler).create(device="cpu:0")
    quiet = {"show_progress": False, "logger_adapter": d3rlpy.logging.NoopAdapterFactory()}
    learner.fit(data, n_steps=3_000, n_steps_per_epoch=3_000, **quiet)
    return learner


def by_d3rlpy(learner: d3rlpy.algos.BC, logs: tuple[np.ndarray, ...], seed: int) -> float:
    states, actions, rewards, _ = (part.reshape(-1, 1).astype(np.float32) for part in logs)
    ends = np.arange(len(states)) % STEPS == STEPS - 1
    data = d3rlpy.dataset.MDPDataset(states, actions, rewards, np.zeros(len(states)), ends)
    d3rlpy.seed(seed)
    config = d3rlpy.ope.FQEConfig(gamma=DISCOUNT, batch_size=256, learning_rate=1e-3)
    fqe = d3rlpy.ope.FQE(algo=learner, config=config, device="cpu:0")
    quiet = {"show_progress": False, "logger_adapter": d3rlpy.logging.NoopAdapterFactory()}
    fqe.fit(data, n_steps=5_000, n_steps_per_epoch=5_000, **quiet)
    starts = logs[0][:, :1].astype(np.float32)
    return float(fqe.predict_value(starts, learner.predict(starts)).mean())


def compared(seed: int, learner: d3rlpy.algos.BC) -> Row:
    rng = np.random.default_rng(seed)
    logs = played(lambda x: -0.3 * x + 0.7 * rng.standard_normal(len(x)), rng, EPISODES)
    states, actions, rewards, following = (part.reshape(-1, 1).astype(np.float32) for part in logs)
    episodes = np.repeat(np.arange(EPISODES), STEPS)
    data = hambo.Dataset.from_arrays(states, actions, rewards[:, 0], following, episode=episodes)
    # The model decides nothing here.
    model = hambo.fit(data, hambo.Ensemble(hidden=[16], max_steps=50), seed=seed, progress=False)
    settings = hambo.BaselineSettings(penalties=())
    found = hambo.baselines(
        model, learner, data, horizon=STEPS, discount=DISCOUNT, settings=settings, seed=seed, progress=False
    )["fqe"]
    theirs = [by_d3rlpy(learner, logs, 10 * seed + member) for member in range(MEMBERS)]
    weights = DISCOUNT ** np.arange(STEPS)

    def act(x: np.ndarray) -> np.ndarray:
        return learner.predict(x.reshape(-1, 1).astype(np.float32))[:, 0]

    truth = (played(act, np.random.default_rng(10_000 + seed), 20_000)[2] * weights).sum(axis=1).mean()
    row: Row = {"seed": seed, "logged": round(float((logs[2] * weights).sum(axis=1).mean()), 3)}
    row |= {"truth": round(float(truth), 3), "hambo": round(found.estimate, 3)}
    row |= {"hambo_error": round(found.std_error or 0.0, 3), "d3rlpy": round(float(np.mean(theirs)), 3)}
    return row | {"d3rlpy_error": round(float(np.std(theirs, ddof=1)), 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    learner, rows = cloned(), []
    for seed in arguments.seeds:
        rows.append(compared(seed, learner))
        write_rows(arguments.results, rows, COLUMNS, lambda row: row["seed"])
        print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
