"""A heated room whose wall keeps the warmth, and has no thermometer."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

HOURS, STRONGEST = 0.5, 8.0


class HeatedRoom(System):
    name = "heated_room"
    difficulty = "a hidden state: the wall"
    horizon = 48
    learns_reward = True
    states = ["room", "outdoors", "hour_sine", "hour_cosine"]
    actions = ["heater"]
    # The heater's gain, the temperatures wanted by day and by night.
    logged = {"A": (2.0, 21.0, 19.0), "B": (3.0, 21.3, 19.3), "C": (2.0, 20.5, 20.0)}
    close = (2.5, 21.0, 19.6)
    further = (2.0, 21.0, 16.0)
    reckless = (8.0, 21.0, 5.0)
    search = ((0.5, 17.0, 5.0), (10.0, 23.0, 21.0))

    def starts(self, rng: Rng, count: int) -> Array:
        room, wall = rng.normal(20.3, 0.5, count), rng.normal(23.5, 1.0, count)
        return column(room, rng.normal(-1.5, 1.8, count), np.zeros(count), np.ones(count), wall)

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        room, outdoors, sine, cosine, wall = states.T
        heater = np.clip(actions[:, 0], 0, STRONGEST)
        hour = np.arctan2(sine, cosine) * 12 / np.pi
        warmer = room + HOURS * ((wall - room) / 3.0 + (outdoors - room) / 9.0) + rng.normal(0, 0.05, len(room))
        stored = wall + HOURS * (heater * 0.87 - (wall - room) / 3.0) + rng.normal(0, 0.04, len(room))
        typical = 2.0 + 4.5 * np.sin((hour - 9) * np.pi / 12)
        weather = outdoors + 0.12 * (typical - outdoors) + rng.normal(0, 0.25, len(room))
        later = (hour + HOURS) * np.pi / 12
        return column(warmer, weather, np.sin(later), np.cos(later), stored)

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        energy = 0.3 * HOURS * np.clip(actions[:, 0], 0, STRONGEST)
        return -energy - 0.4 * np.maximum(0.0, 20.0 - next_states[:, 0]) ** 2

    def act(self, parameters: Parameters, states: Array) -> Array:
        gain, day, night = parameters
        wanted = np.where(states[:, 3] > 0.6, night, day)
        return np.clip(column(gain * (wanted - states[:, 0]) + 1.2), 0, STRONGEST)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.3, 0, STRONGEST)
