"""How far a policy goes from the data: distances to the nearest logged transitions, without any model.

    python reproductions/coverage.py hopper mixed 200 80000 120000 160000 200000

Distances are between states with their actions, each column over its standard deviation in the data; of every step the
one to the third nearest of 10,000 transitions of every behaviour policy.
"""

import sys

import numpy as np
from data import transitions
from environments import ENVIRONMENTS, Actor, lockstep
from scipy.spatial import cKDTree

EPISODES = 20
FIRST_STEPS = 15


def logged(name: str, kind: str, seed: int = 5) -> np.ndarray:
    environment = ENVIRONMENTS[name]
    table = transitions(environment, kind, 10_000 * len(environment.behaviours[kind]), seed)
    inputs = [column for column in table.column_names if column.startswith(("obs_", "action_"))]
    return np.stack([table[column].to_numpy() for column in inputs], axis=1)


def visited(name: str, checkpoint: int, horizon: int, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """States with actions of some episodes in the real environment, and the step of each."""
    environment = ENVIRONMENTS[name]
    steps: list[np.ndarray] = []
    run = lockstep(environment, Actor(environment, checkpoint), episodes=EPISODES, seed=seed, width=EPISODES)
    for _, observations, actions, _ in run:
        steps.append(np.concatenate([observations, actions], axis=1))
        if len(steps) == horizon:
            break
    return np.concatenate(steps), np.repeat(np.arange(len(steps)), [len(step) for step in steps])


def main() -> None:
    name, kind, horizon, *checkpoints = sys.argv[1:]
    data = logged(name, kind)
    spread = data.std(axis=0)
    tree = cKDTree(data / spread)
    print(f"| policy | median | 9 of 10 below | median of the first {FIRST_STEPS} steps |")
    print("|---|---|---|---|")
    for checkpoint in map(int, checkpoints):
        inputs, step = visited(name, checkpoint, int(horizon))
        distance = tree.query(inputs / spread, k=3)[0][:, 2]
        numbers = np.median(distance), np.quantile(distance, 0.9), np.median(distance[step < FIRST_STEPS])
        print(f"| {checkpoint:,} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |")


if __name__ == "__main__":
    main()
