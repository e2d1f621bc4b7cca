"""Gymnasium's FrozenLake-v1, slippery, its fields by their numbers as Gymnasium logs them."""

import numpy as np
from system import Array, Parameters, Rng, System, column, mixed_up, one_hot

LAKE = "SFFFFHFHFFFHHFFG"
GOAL = LAKE.index("G")
FINAL = np.array([field in "GH" for field in LAKE])
# Left, down, right, up, as rows and columns.
WAYS = np.array([[0, -1], [1, 0], [0, 1], [-1, 0]])
BEST = (0, 3, 3, 3, 0, 0, 0, 0, 3, 1, 0, 0, 0, 2, 1, 0)


def neighbours() -> Array:
    """The field that a step leads to, by field and way."""
    places = np.arange(16)[:, np.newaxis]
    rows, columns = places // 4 + WAYS[:, 0], places % 4 + WAYS[:, 1]
    return np.clip(rows, 0, 3) * 4 + np.clip(columns, 0, 3)


def chances() -> Array:
    """Probabilities by field, choice and next field: a third each for the way chosen and those beside it."""
    found = np.zeros((16, 4, 16))
    for place, steps in enumerate(neighbours()):
        for choice in range(4):
            for way in (choice - 1, choice, choice + 1):
                found[place, choice, place if FINAL[place] else steps[way % 4]] += 1 / 3
    return found


CHANCES = chances()


class FrozenLake(System):
    name = "frozen_lake"
    difficulty = "numbers that are names: neighbours are not alike"
    horizon = 60
    ends = True
    names_states = True
    states = ["field"]
    actions = ["left", "down", "right", "up"]
    episodes = 100
    # A choice for every field.
    logged = {"best": BEST, "right": (2.0,) * 16, "down": (1.0,) * 16}
    close = BEST[:4] + (0, 0, 2, 0) + BEST[8:]
    further = (1, 2, 1, 0, 1, 0, 1, 0, 2, 1, 1, 0, 0, 2, 2, 0)
    reckless = (2, 2, 2, 0, 2, 0, 2, 0, 1, 0, 2, 0, 0, 3, 0, 0)
    search = ((0.0,) * 16, (4.0,) * 16)

    def starts(self, rng: Rng, count: int) -> Array:
        return np.zeros((count, 1))

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        cumulative = np.cumsum(CHANCES[states[:, 0].astype(int), np.argmax(actions, axis=1)], axis=1)
        drawn = rng.random((len(states), 1))
        return column((cumulative < drawn).sum(axis=1).clip(max=15).astype(float))

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        return (self.field(next_states) == GOAL).astype(float)

    def ended(self, states: Array, actions: Array, next_states: Array) -> Array:
        return FINAL[self.field(next_states)]

    def act(self, parameters: Parameters, states: Array) -> Array:
        choices = np.minimum(np.floor(parameters), 3).astype(int)
        return one_hot(choices[self.field(states)], 4)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return mixed_up(rng, actions, 0.3)

    def field(self, states: Array) -> Array:
        return np.clip(np.round(states[:, 0]), 0, 15).astype(int)

    def exact(self, parameters: Parameters) -> float:
        """By the probabilities of every field, step by step."""
        choices = np.argmax(self.act(parameters, column(np.arange(16.0))), axis=1)
        move = CHANCES[np.arange(16), choices]
        likely = np.eye(16)[0]
        for _ in range(self.horizon):
            likely = likely @ move
        return float(likely[GOAL])
