"""A queue with a door: letting customers in pays, each one who waits costs, and a full hall costs much."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

ARRIVALS, SERVED, FULL = 6.0, 5.0, 25.0


class QueueAdmission(System):
    name = "queue_admission"
    difficulty = "counts, a boundary at zero, a rare penalty"
    horizon = 40
    states = ["waiting"]
    actions = ["admitted"]
    # Share let into an empty hall, and how much less per customer who waits.
    logged = {"strict": (0.7, 0.03), "open": (0.9, 0.05), "even": (0.75, 0.02)}
    close = (0.8, 0.03)
    further = (1.0, 0.02)
    reckless = (1.0, -0.02)
    search = ((0.3, -0.02), (1.0, 0.1))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(rng.poisson(4.0, count).astype(float))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        entered = rng.poisson(ARRIVALS * np.clip(actions[:, 0], 0, 1))
        return column(np.clip(states[:, 0] + entered - rng.poisson(SERVED, len(states)), 0.0, 60.0))

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        waiting = next_states[:, 0]
        return ARRIVALS * np.clip(actions[:, 0], 0, 1) - 0.15 * waiting - 20.0 * (waiting >= FULL)

    def act(self, parameters: Parameters, states: Array) -> Array:
        share, less = parameters
        return np.clip(column(share - less * states[:, 0]), 0, 1)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.1, 0, 1)
