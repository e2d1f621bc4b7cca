"""The paper's PointSafety: walk around a danger zone, by way of a point above or below it."""

import numpy as np
from system import Array, Parameters, Rng, System, jittered

GOAL = np.array([2.0, 0.0])
LONGEST = 0.5


class PointSafety(System):
    name = "point_safety"
    difficulty = "a cost that jumps, without noise"
    horizon = 20
    states = ["x", "y"]
    actions = ["step_x", "step_y"]
    logged = {"high": (2.0,), "higher": (2.5,), "low": (-2.0,)}
    close = (1.8,)
    further = (1.3,)
    reckless = (1.0,)
    search = ((-2.5,), (2.5,))

    def starts(self, rng: Rng, count: int) -> Array:
        return np.tile([-2.0, 0.0], (count, 1))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        return states + np.clip(actions, -LONGEST, LONGEST)

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        danger = np.hypot(states[:, 0], states[:, 1]) < 1.0
        return -np.hypot(states[:, 0] - GOAL[0], states[:, 1] - GOAL[1]) - 100.0 * danger

    def act(self, parameters: Parameters, states: Array) -> Array:
        target = np.where(states[:, :1] < -1e-4, [0.0, parameters[0]], GOAL)
        way = target - states
        distance = np.hypot(way[:, :1], way[:, 1:])
        return way * np.minimum(1.0, LONGEST / np.maximum(distance, 1e-12))

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.1, -LONGEST, LONGEST)
