"""A battery that trades: it trips when it is too hot or empty, which costs 30 and ends the day."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

HOTTEST, EMPTY, FINE, LARGEST = 55.0, 0.02, 30.0, 60.0


class Battery(System):
    name = "battery"
    difficulty = "a rare penalty, in a state that the logs hardly hold"
    horizon = 96
    ends = True
    states = ["charge", "temperature", "price"]
    actions = ["current"]
    episodes = 13
    logged = {"2 A/ct": (2.0, 48.0), "4 A/ct": (4.0, 48.0), "6 A/ct": (6.0, 48.0), "8 A/ct": (8.0, 48.0)}
    close = (5.0, 48.0)
    further = (15.0, 50.0)
    reckless = (30.0, 60.0)
    search = ((1.0, 44.0), (30.0, 60.0))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(rng.uniform(0.3, 0.7, count), rng.normal(27, 3, count), rng.uniform(10, 30, count))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        charge, temperature, price = states.T
        current = np.clip(actions[:, 0], -LARGEST, LARGEST)
        following = np.clip(charge + current / 60 * 0.06 * (1 - 0.1 * (current > 0)), 0, 1)
        heat = 0.0016 * current**2 * (1 + 0.02 * (temperature - 25)) - 0.12 * (temperature - 25)
        warmer = temperature + heat + rng.normal(0, 0.25, len(states))
        dearer = price + 0.1 * (20 - price) + rng.normal(0, 2.2, len(states))
        return column(following, warmer, dearer)

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        sold = (states[:, 0] - next_states[:, 0]) * states[:, 2]
        return sold - FINE * self.ended(states, actions, next_states)

    def ended(self, states: Array, actions: Array, next_states: Array) -> Array:
        return (next_states[:, 1] > HOTTEST) | (next_states[:, 0] < EMPTY)

    def act(self, parameters: Parameters, states: Array) -> Array:
        gain, limit = parameters
        charge, temperature, price = states.T
        current = np.clip(gain * (20 - price), -LARGEST, LARGEST)
        current = np.where((charge < 0.12) & (current < 0) | (charge > 0.95) & (current > 0), 0, current)
        return column(np.where(temperature > limit, 0.2 * current, current))

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 10.0, -LARGEST, LARGEST)
