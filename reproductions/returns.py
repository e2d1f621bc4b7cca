"""True returns of the committed policies, at every horizon: `policies/returns.csv`.

python reproductions/returns.py [ENVIRONMENT ...]
"""

import csv
import sys

import numpy as np
from environments import ENVIRONMENTS, POLICIES, Actor, Environment, lockstep

TABLE = POLICIES / "returns.csv"
COLUMNS = ["environment", "checkpoint", "horizon", "episodes", "mean", "std_error"]
SEED = 12_345


def true_returns(environment: Environment, checkpoint: int) -> list[dict[str, str]]:
    """One row per horizon, all from the same episodes."""
    episodes, longest = environment.truth_episodes, max(environment.horizons)
    rewards = np.zeros((episodes, longest))
    steps = np.zeros(episodes, dtype=int)
    run = lockstep(environment, Actor(environment, checkpoint), episodes=episodes, seed=SEED)
    ended: set[int] | None = None
    while True:
        try:
            numbers, _, _, outcomes = run.send(ended)
        except StopIteration:
            break
        for number, (_, reward, _) in zip(numbers, outcomes, strict=True):
            rewards[number, steps[number]] = reward
            steps[number] += 1
        ended = {number for number in numbers if steps[number] == longest}
    rows = []
    for horizon in environment.horizons:
        totals = rewards[:, :horizon].sum(axis=1)
        error = totals.std(ddof=1) / np.sqrt(episodes)
        values = [environment.name, checkpoint, horizon, episodes, f"{totals.mean():.3f}", f"{error:.3f}"]
        rows.append(dict(zip(COLUMNS, map(str, values), strict=True)))
    return rows


def recorded() -> dict[tuple[str, int, int], tuple[float, float]]:
    """Mean and standard error by environment, checkpoint and horizon."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            (row["environment"], int(row["checkpoint"]), int(row["horizon"])): (
                float(row["mean"]),
                float(row["std_error"]),
            )
            for row in csv.DictReader(file)
        }


def main() -> None:
    names = sys.argv[1:] or list(ENVIRONMENTS)
    kept = []
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            redone = {ENVIRONMENTS[name].name for name in names}
            kept = [row for row in csv.DictReader(file) if row["environment"] not in redone]
    for name in names:
        environment = ENVIRONMENTS[name]
        folder = POLICIES / environment.name
        for checkpoint in sorted(int(path.stem) for path in folder.glob("*.onnx") if path.stem.isdigit()):
            rows = true_returns(environment, checkpoint)
            kept += rows
            print(
                name,
                checkpoint,
                *(f"T={row['horizon']}: {row['mean']} ± {row['std_error']}" for row in rows),
                flush=True,
            )
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


if __name__ == "__main__":
    main()
