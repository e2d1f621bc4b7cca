"""Gymnasium's CartPole-v1 with a wall: the middle of the rail pays best, and its end costs more than is ever earned."""

import numpy as np
from system import Array, Parameters, Rng, System, column, mixed_up, one_hot

GRAVITY, POLE, HALF_LENGTH, TOTAL, FORCE, SECONDS = 9.8, 0.1, 0.5, 1.1, 10.0, 0.02
RAIL, TILT = 2.4, 12 * 2 * np.pi / 360


class CartPole(System):
    name = "cartpole"
    difficulty = "a penalty further out than the logs, so that default limits hide it"
    horizon = 150
    ends = True
    states = ["position", "speed", "angle", "turning"]
    actions = ["left", "right"]
    episodes = 20
    # Where to go, and how much that and the speed count against balance.
    logged = {"centred": (0.0, 0.3, 0.5), "right": (0.8, 0.3, 0.5), "left": (-0.8, 0.5, 0.8)}
    close = (0.1, 0.4, 0.6)
    further = (1.6, 0.5, 0.7)
    reckless = (2.4, 0.6, 0.8)
    search = ((-3.0, 0.0, 0.0), (3.0, 1.0, 1.5))

    def starts(self, rng: Rng, count: int) -> Array:
        return rng.uniform(-0.05, 0.05, (count, 4))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        position, speed, angle, turning = states.T
        force = np.where(actions[:, 1] > actions[:, 0], FORCE, -FORCE)
        cosine, sine = np.cos(angle), np.sin(angle)
        push = (force + POLE * HALF_LENGTH * turning**2 * sine) / TOTAL
        twist = (GRAVITY * sine - cosine * push) / (HALF_LENGTH * (4 / 3 - POLE * cosine**2 / TOTAL))
        pull = push - POLE * HALF_LENGTH * twist * cosine / TOTAL
        return column(
            position + SECONDS * speed,
            speed + SECONDS * pull,
            angle + SECONDS * turning,
            turning + SECONDS * twist,
        )

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        position = next_states[:, 0]
        return 1.0 - 0.1 * position**2 - 500.0 * (np.abs(position) > RAIL)

    def ended(self, states: Array, actions: Array, next_states: Array) -> Array:
        return (np.abs(next_states[:, 0]) > RAIL) | (np.abs(next_states[:, 2]) > TILT)

    def act(self, parameters: Parameters, states: Array) -> Array:
        goal, distance, speed = parameters
        pushes = states @ np.array([distance, speed, 8.0, 2.0]) > distance * goal
        return one_hot(pushes.astype(int), 2)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return mixed_up(rng, actions, 0.1)
