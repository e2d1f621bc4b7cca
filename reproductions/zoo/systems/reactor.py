"""A stirred reactor: conversion pays, and cooling keeps it from running hot."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

SECONDS, RATE, HEAT, COOLING = 0.1, 0.08, 7.0, 0.5


class Reactor(System):
    name = "reactor"
    difficulty = "a long horizon, stable until it ignites"
    horizon = 150
    states = ["conversion", "temperature"]
    actions = ["coolant"]
    episodes = 12
    # The coolant's temperature at the target, gain, the target.
    logged = {"cool": (0.0, 0.5, 1.5), "warm": (0.9, 0.5, 2.2), "even": (0.2, 0.2, 1.8)}
    close = (0.3, 0.4, 1.8)
    further = (0.5, 1.0, 2.6)
    reckless = (2.0, -0.3, 2.0)
    search = ((-1.0, -0.5, 0.5), (2.0, 2.0, 4.0))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(rng.uniform(0.1, 0.4, count), rng.uniform(0.5, 2.0, count))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        conversion, temperature = states.T
        coolant = np.clip(actions[:, 0], -1, 2)
        reaction = RATE * (1 - conversion) * np.exp(temperature / (1 + temperature / 20))
        slope = column(
            reaction - conversion,
            HEAT * reaction - temperature - COOLING * (temperature - coolant),
        )
        return np.maximum(states + SECONDS * slope + 0.01 * rng.standard_normal(states.shape), [0.0, -2.0])

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        conversion, temperature = next_states.T
        return conversion - 0.5 * np.maximum(temperature - 1.8, 0.0) ** 2

    def act(self, parameters: Parameters, states: Array) -> Array:
        usual, gain, target = parameters
        return np.clip(column(usual + gain * (target - states[:, 1])), -1, 2)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.3, -1, 2)
