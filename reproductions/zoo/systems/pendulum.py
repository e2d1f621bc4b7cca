"""Gymnasium's Pendulum-v1: swing up by energy, then hold."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered


class Pendulum(System):
    name = "pendulum"
    difficulty = "unstable at the top, a threshold in the torque"
    horizon = 100
    states = ["cosine", "sine", "speed"]
    actions = ["torque"]
    episodes = 20
    # Pumping, stiffness, damping.
    logged = {"gentle": (0.15, 4.0, 1.0), "late": (0.3, 2.0, 0.5), "stiff": (0.3, 8.0, 1.5)}
    close = (0.25, 6.0, 1.2)
    further = (0.8, 12.0, 3.0)
    reckless = (5.0, 1.0, -0.5)
    search = ((-1.0, 0.0, -1.0), (3.0, 15.0, 5.0))

    def starts(self, rng: Rng, count: int) -> Array:
        angle, speed = rng.uniform(-np.pi, np.pi, count), rng.uniform(-1, 1, count)
        return column(np.cos(angle), np.sin(angle), speed)

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        cosine, sine, speed = states.T
        torque = np.clip(actions[:, 0], -2, 2)
        speed = np.clip(speed + (15.0 * sine + 3.0 * torque) * 0.05, -8, 8)
        angle = np.arctan2(sine, cosine) + speed * 0.05
        return column(np.cos(angle), np.sin(angle), speed)

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        angle = np.arctan2(states[:, 1], states[:, 0])
        return -(angle**2 + 0.1 * states[:, 2] ** 2 + 0.001 * np.clip(actions[:, 0], -2, 2) ** 2)

    def act(self, parameters: Parameters, states: Array) -> Array:
        pump, stiffness, damping = parameters
        cosine, sine, speed = states.T
        missing = 5.0 - (speed**2 / 6.0 + 5.0 * cosine)
        swing = pump * np.sign(speed + 1e-9) * np.minimum(1.0, np.abs(speed) + 0.2) * missing
        hold = -stiffness * np.arctan2(sine, cosine) - damping * speed
        return np.clip(column(np.where(cosine > 0.9, hold, swing)), -2, 2)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.5, -2, 2)
