"""A shelf of whole pieces: an empty one costs 25 a day, a full one its rent."""

import numpy as np
from system import Array, Parameters, Rng, System, column

DEMAND, RENT, EMPTY, SPACE = 8.0, 0.05, 25.0, 60.0


class Inventory(System):
    name = "inventory"
    difficulty = "whole numbers, and a penalty on one of them"
    horizon = 30
    states = ["stock"]
    actions = ["order"]
    # Below which stock to order, and up to which.
    logged = {"A": (18.0, 32.0), "B": (14.0, 26.0), "C": (12.0, 20.0)}
    close = (13.0, 24.0)
    further = (9.0, 18.0)
    reckless = (6.0, 12.0)
    search = ((2.0, 8.0), (30.0, 45.0))

    def starts(self, rng: Rng, count: int) -> Array:
        return column(rng.integers(20, 35, count).astype(float))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        delivered = np.minimum(states[:, 0] + np.round(np.maximum(actions[:, 0], 0.0)), SPACE)
        return column(np.maximum(delivered - rng.poisson(DEMAND, len(states)), 0.0))

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        return -RENT * next_states[:, 0] - EMPTY * (next_states[:, 0] <= 0.0)

    def act(self, parameters: Parameters, states: Array) -> Array:
        low, up_to = parameters
        stock = states[:, 0]
        return column(np.where(stock < low, np.round(np.maximum(up_to - stock, 0.0)), 0.0))

    def explore(self, rng: Rng, actions: Array) -> Array:
        return np.maximum(actions + rng.integers(-3, 4, actions.shape), 0.0)

    def exact(self, parameters: Parameters) -> float:
        """By the probabilities of every stock, day by day."""
        stocks = np.arange(SPACE + 1)
        orders = self.act(parameters, column(stocks))[:, 0]
        demand = np.arange(80)
        logs = demand * np.log(DEMAND) - DEMAND - np.cumsum(np.log(np.maximum(demand, 1)))
        likely = np.exp(logs) / np.exp(logs).sum()
        move = np.zeros((len(stocks), len(stocks)))
        for stock, delivered in enumerate(np.minimum(stocks + orders, SPACE).astype(int)):
            np.add.at(move[stock], np.maximum(delivered - demand, 0), likely)
        chances = np.where((stocks >= 20) & (stocks < 35), 1 / 15, 0.0)
        rewards = self.reward(column(stocks), column(orders), column(stocks))
        total = 0.0
        for _ in range(self.horizon):
            chances = chances @ move
            total += float(chances @ rewards)
        return total
