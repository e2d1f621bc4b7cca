"""Pendulum's true return more precisely, and from the initial states that every seed of the benchmark draws from.

python reproductions/pendulum_truth.py
"""

import numpy as np
from environments import ENVIRONMENTS, Actor

HORIZON = 200
PENDULUM = ENVIRONMENTS["pendulum"]


def returns(actor: Actor, angle: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Gymnasium's Pendulum-v1 for many episodes at once, in double precision."""
    total = np.zeros(len(angle))
    for _ in range(HORIZON):
        observations = np.stack([np.cos(angle), np.sin(angle), speed], axis=1)
        torque = np.clip(actor(observations, np.random.default_rng())[:, 0], -2, 2)
        normal = (angle + np.pi) % (2 * np.pi) - np.pi
        total -= normal**2 + 0.1 * speed**2 + 0.001 * torque**2
        speed = np.clip(speed + (15 * np.sin(angle) + 3 * torque) * 0.05, -8, 8)
        angle = angle + speed * 0.05
    return total


def report(name: str, found: np.ndarray) -> None:
    print(f"{name}: {found.mean():.2f} ± {found.std() / len(found) ** 0.5:.2f}, {len(found):,} episodes", flush=True)


def main() -> None:
    actor = Actor(PENDULUM, PENDULUM.evaluated)
    for seed in range(5):
        states = PENDULUM.initial_states(10_000, seed=1_000 + seed).astype(np.float64)
        report(f"initial states of seed {seed}", returns(actor, np.arctan2(states[:, 1], states[:, 0]), states[:, 2]))
    rng = np.random.default_rng(12345)
    parts = [returns(actor, rng.uniform(-np.pi, np.pi, 10_000), rng.uniform(-1, 1, 10_000)) for _ in range(30)]
    report("other initial states", np.concatenate(parts))


if __name__ == "__main__":
    main()
