"""Gymnasium's MountainCarContinuous-v0: rock the car until it leaves the valley."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

GOAL = 0.45


class MountainCar(System):
    name = "mountain_car"
    difficulty = "one large reward at the end, small ones against it before"
    horizon = 120
    ends = True
    states = ["position", "speed"]
    actions = ["force"]
    episodes = 20
    logged = {"weak": (0.5, 0.0), "strong": (0.8, 0.0), "biased": (0.7, 0.1)}
    close = (0.7, 0.0)
    further = (1.0, 0.2)
    reckless = (0.2, -0.2)
    search = ((-1.0, -0.5), (1.5, 0.5))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(rng.uniform(-0.6, -0.4, count), np.zeros(count))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        position, speed = states.T
        force = np.clip(actions[:, 0], -1, 1)
        speed = np.clip(speed + 0.0015 * force - 0.0025 * np.cos(3 * position), -0.07, 0.07)
        position = np.clip(position + speed, -1.2, 0.6)
        return column(position, np.where((position == -1.2) & (speed < 0), 0.0, speed))

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        return 100.0 * self.ended(states, actions, next_states) - 0.1 * actions[:, 0] ** 2

    def ended(self, states: Array, actions: Array, next_states: Array) -> Array:
        return (next_states[:, 0] >= GOAL) & (next_states[:, 1] >= 0.0)

    def act(self, parameters: Parameters, states: Array) -> Array:
        strength, bias = parameters
        return np.clip(column(strength * np.sign(states[:, 1] + 1e-9) + bias), -1, 1)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.3, -1, 1)
