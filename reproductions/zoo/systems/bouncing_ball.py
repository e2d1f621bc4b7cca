"""A ball that bounces on a plate, with a fan that is too weak to hold it: keep it up, and avoid hard landings."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

SECONDS, GRAVITY, LIFT, KEPT, HARD = 0.05, 9.8, 7.0, 0.9, 4.5


class BouncingBall(System):
    name = "bouncing_ball"
    difficulty = "contact: the speed turns round within a step"
    horizon = 60
    states = ["height", "speed"]
    actions = ["fan"]
    # How much fan on the way up, and on the way down.
    logged = {"soft": (0.3, 0.6), "even": (0.5, 0.5), "lively": (0.7, 0.3)}
    close = (0.5, 0.4)
    further = (0.9, 0.6)
    reckless = (1.0, 0.0)
    search = ((0.0, 0.0), (1.0, 1.0))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(rng.uniform(0.5, 1.5, count), rng.normal(0, 0.5, count))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        height, speed = states.T
        speed = speed + SECONDS * (LIFT * np.clip(actions[:, 0], 0, 1) - GRAVITY) + rng.normal(0, 0.05, len(states))
        height = height + SECONDS * speed
        below = height < 0
        return column(np.where(below, -KEPT * height, height), np.where(below, -KEPT * speed, speed))

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        landed = (states[:, 1] < -HARD) & (next_states[:, 1] > 0)
        return np.minimum(next_states[:, 0], 1.0) - 40.0 * landed

    def act(self, parameters: Parameters, states: Array) -> Array:
        up, down = parameters
        return column(np.where(states[:, 1] > 0, up, down))

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.2, 0, 1)
