"""True returns of the committed policies, at every horizon: `policies/returns.csv`.

    python reproductions/returns.py [ENVIRONMENT ...]

Those that are missing, and all of the environments that are named.
"""

import csv
import sys

import numpy as np
from environments import ENVIRONMENTS, POLICIES, Actor, Checkpoint, Environment, played

TABLE = POLICIES / "returns.csv"
COLUMNS = ["environment", "checkpoint", "horizon", "episodes", "mean", "std_error"]
SEED = 12_345


def true_returns(environment: Environment, checkpoint: Checkpoint) -> list[dict[str, str]]:
    """One row per horizon, all from the same episodes."""
    episodes, longest = environment.truth_episodes, max(environment.horizons)
    rewards = played(environment, Actor(environment, checkpoint), episodes=episodes, steps=longest, seed=SEED)
    rows = []
    for horizon in environment.horizons:
        totals = rewards[:, :horizon].sum(axis=1)
        error = totals.std(ddof=1) / np.sqrt(episodes)
        values = [environment.name, checkpoint, horizon, episodes, f"{totals.mean():.3f}", f"{error:.3f}"]
        rows.append(dict(zip(COLUMNS, map(str, values), strict=True)))
    return rows


def recorded() -> dict[tuple[str, Checkpoint, int], tuple[float, float]]:
    """Mean and standard error by environment, checkpoint and horizon."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            (row["environment"], checkpoint_of(row), int(row["horizon"])): (
                float(row["mean"]),
                float(row["std_error"]),
            )
            for row in csv.DictReader(file)
        }


def checkpoint_of(row: dict[str, str]) -> Checkpoint:
    name = row["checkpoint"]
    return int(name) if name.isdigit() else name


def main() -> None:
    again = {ENVIRONMENTS[name].name for name in sys.argv[1:]}
    kept: list[dict[str, str]] = []
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            kept = [row for row in csv.DictReader(file) if row["environment"] not in again]
    known = {(row["environment"], checkpoint_of(row)) for row in kept}
    for environment in ENVIRONMENTS.values():
        for checkpoint in environment.policies():
            if (environment.name, checkpoint) in known:
                continue
            rows = true_returns(environment, checkpoint)
            kept += rows
            found = (f"T={row['horizon']}: {row['mean']} ± {row['std_error']}" for row in rows)
            print(environment.name, checkpoint, *found, flush=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


if __name__ == "__main__":
    main()
