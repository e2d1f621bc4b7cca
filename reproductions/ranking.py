"""Rankings of 200 controllers of the pendulum: the time with and without a short look first, and the order over seeds.

    python reproductions/ranking.py [--seeds 0 1 2]

The controllers differ in random gains. Models are small and rollouts few (2 x 128, 500 episodes of 100 steps), so that
200 evaluations one by one can be afforded. For the first seed the policies that the ranking has left out are evaluated
as well: does one of them win? What 200 evaluations take is 200 times what those took on average. One row per seed in
`results/ranking.csv`; the order of the policies that both rankings evaluate is compared between seeds.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
from scipy.stats import spearmanr
from tidy import Row, write_rows

import hambo
from hambo.tasks import SwingUp, simulate

RESULTS = Path(__file__).parent / "results" / "ranking.csv"
POLICIES, HORIZON, DELTA = 200, 100, 0.05
COLUMNS = [
    *("seed", "policies", "stopped", "wrongly_stopped", "seconds", "seconds_one_by_one", "same_winner"),
    *("spearman", "true_regret", "order_as_before"),
]


def controllers() -> dict[str, SwingUp]:
    """The same in every run."""
    rng = np.random.default_rng(2_024)
    usual = SwingUp()
    gains = {name: value for name, value in vars(usual).items() if isinstance(value, float)}
    drawn = [{name: value * rng.uniform(0.2, 1.8) for name, value in gains.items()} for _ in range(POLICIES)]
    return {f"controller {number}": SwingUp(**gains) for number, gains in enumerate(drawn)}


def true_returns(policies: dict[str, SwingUp]) -> dict[str, float]:
    """Of 500 episodes each, on the same starts."""
    found = {}
    for name, policy in policies.items():
        found[name] = float(np.mean(simulate("pendulum", policy, episodes=500, horizon=HORIZON, seed=1).returns))
    return found


def timed(model: hambo.Model, policies: dict[str, SwingUp], seed: int, **options: Any) -> tuple[hambo.Ranking, float]:
    task = {"reward": "pendulum", "state_bounds": "pendulum", "episodes": 500, "progress": False, "threads": 1}
    begun = time.process_time()
    found = hambo.rank(model, policies, horizon=HORIZON, seed=seed, **task, **options)
    return found, time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    policies = controllers()
    truths = true_returns(policies)
    rows: list[Row] = []
    before: hambo.Ranking | None = None
    for seed in arguments.seeds:
        logs = simulate("pendulum", SwingUp.weak(), episodes=80, horizon=HORIZON, seed=seed)
        ensemble = hambo.Ensemble(hidden=[128, 128], max_steps=2_000, learn_reward=False)
        model = hambo.fit(logs, ensemble, seed=seed, progress=False, threads=1)
        found, seconds = timed(model, policies, seed, delta=DELTA)
        row: Row = {"seed": seed, "policies": POLICIES, "stopped": len(found.stopped), "seconds": round(seconds)}
        row["wrongly_stopped"] = sum(truths[name] > truths[better] for name, better in found.stopped.items())
        row["spearman"] = spearman(
            [evaluation.lower_bound for evaluation in found.values()], [truths[n] for n in found]
        )
        row["true_regret"] = round(max(truths.values()) - truths[found.best], 3)
        if before is None:
            left_out = {name: policies[name] for name in found.stopped}
            others, more = timed(model, left_out, seed, evaluate_all=True, delta=DELTA / POLICIES, separate=True)
            bounds = [one.lower_bound for ranking in (found, others) for one in ranking.values()]
            row["seconds_one_by_one"] = round(more / len(others) * POLICIES)
            row["same_winner"] = found[found.best].lower_bound == max(bounds)
        else:
            both = [name for name in found if name in before]
            places = [list(before).index(name) for name in both]
            row["order_as_before"] = spearman(list(range(len(both))), places)
        before = before or found
        rows.append(row)
        write_rows(arguments.results, rows, COLUMNS, lambda row: row["seed"])
        print(row, flush=True)


def spearman(a: list[float], b: list[float]) -> float:
    return round(float(spearmanr(a, b).statistic), 3)


if __name__ == "__main__":
    main()
