"""A cart on a rail, pushed by a linear controller: the return has a closed form."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

MOVE = np.array([[1.0, 0.1], [0.0, 1.0]])
PUSH = np.array([[0.0], [0.1]])
NOISE = 0.05
START = np.array([1.0, 0.3])
EFFORT = 0.1


class LinearGaussian(System):
    name = "linear_gaussian"
    difficulty = "none: linear, Gaussian"
    horizon = 50
    states = ["position", "speed"]
    actions = ["force"]
    logged = {"soft": (1.0, 1.0), "medium": (1.5, 1.5), "damped": (1.0, 2.0)}
    close = (1.3, 1.6)
    further = (4.0, 4.0)
    reckless = (1.0, -0.5)
    search = ((0.0, -1.0), (10.0, 6.0))

    def starts(self, rng: Rng, count: int) -> Array:
        return START * rng.standard_normal((count, 2))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        return states @ MOVE.T + actions @ PUSH.T + NOISE * rng.standard_normal(states.shape)

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        return -(states[:, 0] ** 2) - EFFORT * actions[:, 0] ** 2

    def act(self, parameters: Parameters, states: Array) -> Array:
        stiffness, damping = parameters
        return -column(stiffness * states[:, 0] + damping * states[:, 1])

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.5)

    def exact(self, parameters: Parameters) -> float:
        """By the second moments of the states, which follow a linear recursion."""
        gains = np.array([parameters])
        closed = MOVE - PUSH @ gains
        cost = np.diag([1.0, 0.0]) + EFFORT * gains.T @ gains
        moments, total = np.diag(START**2), 0.0
        for _ in range(self.horizon):
            total -= float(np.trace(cost @ moments))
            moments = closed @ moments @ closed.T + NOISE**2 * np.eye(2)
        return total
