"""A robot on a path along a cliff, faster near the edge, in gusts of heavy tails."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

GUST, FALL = 0.06, 15.0


class GustyCliff(System):
    name = "gusty_cliff"
    difficulty = "heavy tails: the gust that matters is hardly in the logs"
    horizon = 40
    ends = True
    states = ["way", "distance"]
    actions = ["forward", "sideways"]
    # Distance to the edge, gain.
    logged = {"far": (2.5, 1.0), "middle": (2.0, 1.0), "near": (1.6, 1.5)}
    close = (1.8, 1.0)
    further = (1.0, 1.0)
    reckless = (0.3, 0.5)
    search = ((0.1, 0.2), (3.0, 3.0))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(np.zeros(count), rng.uniform(1.8, 2.2, count))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        forward, sideways = np.clip(actions, -1, 1).T
        way, distance = states.T
        speed = 0.6 * np.exp(-0.3 * np.maximum(distance, 0))
        gusts = np.clip(GUST * rng.standard_t(2, len(states)), -3, 3)
        return column(way + speed * forward + rng.normal(0, 0.02, len(states)), distance + 0.3 * sideways + gusts)

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        return next_states[:, 0] - states[:, 0] - FALL * (next_states[:, 1] < 0)

    def ended(self, states: Array, actions: Array, next_states: Array) -> Array:
        return next_states[:, 1] < 0

    def act(self, parameters: Parameters, states: Array) -> Array:
        distance, gain = parameters
        return np.clip(column(np.ones(len(states)), gain * (distance - states[:, 1])), -1, 1)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.2, -1, 1)
