"""Hopper and HalfCheetah of Gymnasium: logs of a shaky controller, a bound for a steady one, and the truth.

The reward is learned from the logs; when Hopper falls is known. Networks, rounds and horizons are small, so that
both take minutes on one core. Needs `pip install gymnasium[mujoco]`.

Usage: hopper_and_cheetah.py [hopper] [half_cheetah] [--quick]
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

import hambo

Array = npt.NDArray[Any]


class Controller:
    """Pushes a robot's joints, with noise for collecting data."""

    def __init__(self, torques: Callable[[Array], Array], noise: float = 0.0) -> None:
        """Keep the law, and how far to stray from it."""
        self.torques, self.noise = torques, noise
        self.rng = np.random.default_rng(0)

    def __call__(self, states: Array) -> Array:
        """Torques ``[batch, d_a]`` for states ``[batch, d_s]``."""
        torques = self.torques(states)
        return np.clip(torques + self.noise * self.rng.standard_normal(torques.shape), -1.0, 1.0)


def stand(stiffness: float, damping: float) -> Callable[[Array], Array]:
    """Hopper: hold all joints straight."""
    return lambda states: -stiffness * states[:, 2:5] - damping * states[:, 8:11]


def trot(states: Array) -> Array:
    """HalfCheetah: a gait from how the two thighs stand and move, found by trial and error."""
    thighs = np.column_stack([states[:, [2, 5]], 0.1 * states[:, [11, 14]], np.ones(len(states))])
    gains = np.array(
        [
            [-1.0, 0.0, 0.0, 2.0, 0.25],  # back thigh
            [1.0, 0.0, -1.0, -1.0, 0.0],  # back shin
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, -1.0, -2.0, -2.0, -0.5],  # front thigh
            [-1.0, 0.0, -1.0, -2.0, -0.25],  # front shin
            [0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )
    torques: Array = thighs @ gains.T
    return torques


def has_fallen(states: Array, actions: Array, next_states: Array) -> Array:
    """Hopper-v5's own rule for when an episode ends."""
    sane = np.isfinite(next_states).all(axis=1) & (np.abs(next_states[:, 1:]) < 100).all(axis=1)
    return ~(sane & (next_states[:, 0] > 0.7) & (np.abs(next_states[:, 1]) < 0.2))


def study(name: str, logged: Controller, policy: Controller, termination: Any, horizon: int, quick: bool) -> None:
    """Print the bound on a policy's return beside the truth."""
    horizon = 10 if quick else horizon
    begun = time.perf_counter()
    env = gymnasium.make(name, max_episode_steps=horizon)
    data = hambo.collect(env, logged, steps=300 if quick else 10_000, seed=0)
    print(f"{name}: {data}")

    ensemble = hambo.Ensemble(hidden=[256, 256], max_steps=5000)
    model = hambo.fit(data, hambo.Ensemble(hidden=[16], max_steps=50) if quick else ensemble, seed=0)
    result = hambo.evaluate(
        model,
        policy,
        horizon=horizon,
        termination=termination,
        variants=["DAinf", "DS"] if quick else ["CA", "DA1", "DAinf", "DS"],
        episodes=50 if quick else 1000,
        adversary=hambo.Adversary(episodes=200, gradient_steps=200, batch_size=256, max_rounds=10),
    )
    print(result)

    # Episodes that no log has seen: other seeds.
    count = 5 if quick else 200
    truth = hambo.collect(env, policy, steps=count * horizon, seed=1).returns[:count]
    error = truth.std(ddof=1) / np.sqrt(len(truth))
    print(f"\nthe true return               {truth.mean():8.1f} ± {error:.1f}, from {len(truth)} real episodes")
    print(f"the bound                     {result.lower_bound:8.1f}")
    print(f"what the logged policy did    {data.returns.mean():8.1f}")
    print(f"{time.perf_counter() - begun:.0f} s\n")


names = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
quick = "--quick" in sys.argv
if not names or "hopper" in names:
    shaky, steady = Controller(stand(1.0, 0.05), noise=0.3), Controller(stand(2.0, 0.1))
    study("Hopper-v5", shaky, steady, has_fallen, horizon=100, quick=quick)
if not names or "half_cheetah" in names:
    study("HalfCheetah-v5", Controller(trot, noise=0.3), Controller(trot), None, horizon=50, quick=quick)
