"""Built-in tasks, whose true dynamics are known: to try things on, and to compare bounds with the truth.

``"pendulum"`` is Gymnasium's Pendulum-v1, ``"point_env"`` and ``"point_safety"`` are toys of the paper.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from . import _native
from ._checks import checked_count, checked_seed
from ._dataset import Dataset
from ._functions import Array, Policy, policy_function

__all__ = ["SwingUp", "TaskName", "simulate"]

TaskName = Literal["pendulum", "point_env", "point_safety"]

_ACTION_DIMS = {"pendulum": 1, "point_env": 2, "point_safety": 2}


def simulate(
    task: TaskName, policy: Policy, *, episodes: int, horizon: int, seed: int = 0, deterministic: bool = True
) -> Dataset:
    """Log episodes of a policy under a built-in task's true dynamics.

    Parameters
    ----------
    task
        The task's name.
    policy
        As for `hambo.evaluate`.
    episodes, horizon
        How many, and how many steps each.
    seed
        Of the starts.
    deterministic
        As for `hambo.evaluate`.
    """
    function = policy_function(policy, _ACTION_DIMS.get(task, 1), deterministic)
    steps, count = checked_count(horizon, "horizon"), checked_count(episodes, "episodes")
    return Dataset._of(_native.simulate(function, task, steps, count, checked_seed(seed)))


class SwingUp:
    """A controller for the pendulum: pumps energy until the top is in reach, then catches it there.

    Parameters
    ----------
    pump
        Torque while pumping.
    proportional, derivative
        Torque per radian, and per radian and second, near the top.
    noise
        Standard deviation of noise on the torque, for collecting data.
    seed
        Of the noise.
    """

    def __init__(
        self,
        pump: float = 2.0,
        proportional: float = 12.0,
        derivative: float = 3.0,
        *,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.pump, self.proportional, self.derivative = pump, proportional, derivative
        self.noise = noise
        self._rng = np.random.default_rng(seed)

    @classmethod
    def weak(cls, *, noise: float = 0.5, seed: int = 0) -> SwingUp:
        """Pumps and holds weakly, with noise: gets there late or not at all."""
        return cls(1.0, 5.0, 1.0, noise=noise, seed=seed)

    def __call__(self, states: Array) -> Array:
        """Torques ``[batch, 1]`` for states ``[batch, 3]``: cosine, sine and speed of the angle."""
        cosine, sine, speed = states.T
        angle = np.arctan2(sine, cosine)
        energy = 0.5 * speed**2 + 15.0 * (cosine - 1.0)
        pushing = -self.pump * np.where(speed < 0, -1.0, 1.0) * np.where(energy < 0, -1.0, 1.0)
        catching = -(self.proportional * angle + self.derivative * speed)
        near_the_top = (np.abs(angle) < 0.6) & (np.abs(speed) < 3.0)
        torque = np.where(near_the_top, catching, pushing)
        if self.noise > 0.0:
            torque = torque + self.noise * self._rng.standard_normal(torque.shape)
        actions: Array = np.clip(torque, -2.0, 2.0).astype(np.float32)[:, np.newaxis]
        return actions
