"""A machine that breaks about once in 2,000 steps at the speeds that were logged, and more often above them."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

BROKEN, REPAIR = 3.0, 40.0


class RareFailure(System):
    name = "rare_failure"
    difficulty = "about one failure in 2,000 logged steps"
    horizon = 40
    ends = True
    states = ["load", "vibration"]
    actions = ["speed"]
    # Speed without load, and how much less at full load.
    logged = {"slow": (0.4, 0.1), "usual": (0.5, 0.2), "brisk": (0.6, 0.2)}
    close = (0.55, 0.2)
    further = (0.75, 0.2)
    reckless = (1.0, 0.0)
    search = ((0.2, -0.3), (1.0, 0.5))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(rng.uniform(0, 1, count), rng.normal(0.5, 0.1, count))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        load, vibration = states.T
        speed = np.clip(actions[:, 0], 0, 1)
        breaks = rng.random(len(states)) < 5e-4 * np.exp(8.0 * (speed - 0.5) + load - 0.5)
        load = np.clip(load + rng.normal(0, 0.1, len(states)), 0, 1)
        shaken = 0.6 * vibration + 0.4 * (0.3 + 0.5 * speed) + rng.normal(0, 0.05, len(states))
        return column(load, np.where(breaks, 5.0, shaken))

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        return np.clip(actions[:, 0], 0, 1) - REPAIR * (next_states[:, 1] > BROKEN)

    def ended(self, states: Array, actions: Array, next_states: Array) -> Array:
        return next_states[:, 1] > BROKEN

    def act(self, parameters: Parameters, states: Array) -> Array:
        speed, less = parameters
        return np.clip(column(speed - less * states[:, 0]), 0, 1)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.1, 0, 1)
