"""A fork in a stream: every step carries the boat to the left or to the right, and the prize is in the middle."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

SIDE, MIDDLE, BANK = 0.4, 0.25, 1.2


class Fork(System):
    name = "fork"
    difficulty = "noise with two peaks, which a Gaussian fills"
    horizon = 40
    states = ["offset"]
    actions = ["rudder"]
    # How hard to steer back, and where to.
    logged = {"left": (0.3, -0.2), "right": (0.3, 0.2), "hard": (0.6, 0.0)}
    close = (0.4, 0.1)
    further = (0.8, 0.0)
    reckless = (-0.6, 0.0)
    search = ((-1.0, -0.5), (1.0, 0.5))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(rng.normal(0, 0.3, count))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        way = SIDE * rng.choice([-1.0, 1.0], len(states)) + rng.normal(0, 0.05, len(states))
        return column(np.clip(0.9 * states[:, 0] + np.clip(actions[:, 0], -1, 1) + way, -2, 2))

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        offset = np.abs(next_states[:, 0])
        return (offset < MIDDLE) - 1.0 * (offset > BANK) - 0.1 * actions[:, 0] ** 2

    def act(self, parameters: Parameters, states: Array) -> Array:
        gain, towards = parameters
        return np.clip(column(gain * (towards - states[:, 0])), -1, 1)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.1, -1, 1)
