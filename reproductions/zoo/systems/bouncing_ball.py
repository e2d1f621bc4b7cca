"""A ball on a fan: it should hover, and a hard landing costs."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

SECONDS, GRAVITY, LIFT, KEPT, HARD = 0.05, 9.8, 15.0, 0.8, 4.0


class BouncingBall(System):
    name = "bouncing_ball"
    difficulty = "contact: speed turns round within a step"
    horizon = 60
    learns_reward = True
    states = ["height", "speed"]
    actions = ["fan"]
    # Height to hold, stiffness, damping.
    logged = {"high": (1.5, 0.3, 0.2), "low": (0.8, 0.3, 0.2), "loose": (1.0, 0.15, 0.1)}
    close = (1.2, 0.3, 0.2)
    further = (1.0, 0.8, 0.5)
    reckless = (1.0, 0.4, -0.1)
    search = ((0.2, 0.0, -0.2), (2.0, 2.0, 1.0))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(rng.uniform(1.0, 2.5, count), rng.normal(0, 0.5, count))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        height, speed = states.T
        speed = speed + SECONDS * (LIFT * np.clip(actions[:, 0], 0, 1) - GRAVITY) + rng.normal(0, 0.05, len(states))
        height = height + SECONDS * speed
        below = height < 0
        return column(np.where(below, -KEPT * height, height), np.where(below, -KEPT * speed, speed))

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        landed = (states[:, 1] < -HARD) & (next_states[:, 1] > 0)
        return -np.abs(next_states[:, 0] - 1.0) - 10.0 * landed

    def act(self, parameters: Parameters, states: Array) -> Array:
        height, stiffness, damping = parameters
        wanted = GRAVITY / LIFT + stiffness * (height - states[:, 0]) - damping * states[:, 1]
        return np.clip(column(wanted), 0, 1)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.3, 0, 1)
