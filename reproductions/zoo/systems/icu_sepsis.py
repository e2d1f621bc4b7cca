"""ICU-Sepsis, the benchmark of 716 kinds of patients and 25 treatments, by its own package `icu-sepsis`."""

from functools import cached_property

import numpy as np
from system import Array, Parameters, Rng, System, column

DEAD, SURVIVED, ALIVE = 713, 714, 713
MEASUREMENTS = 47
SEVERE = 7.0
"""SOFA score of a severe case, near the median."""


class IcuSepsis(System):
    name = "icu_sepsis"
    difficulty = "many columns, jumps between 716 kinds of patients"
    horizon = 20
    ends = True
    states = ["sofa", "died", "survived"] + [f"measurement_{number}" for number in range(MEASUREMENTS)]
    actions = ["fluids", "vasopressors"]
    episodes = 120
    # How good a treatment the patient gets, from the worst that doctors use (0) to the best (1), in mild and in
    # severe cases.
    logged = {"A": (0.6, 0.6), "B": (0.3, 0.6), "C": (0.6, 0.3)}
    close = (0.5, 0.5)
    further = (1.0, 0.5)
    reckless = (0.0, 0.0)
    search = ((0.0, 0.0), (1.0, 1.0))

    @cached_property
    def table(self) -> tuple[Array, Array, Array]:
        """What is logged of every kind of patient; probabilities by kind, treatment and next kind; of the start."""
        from icu_sepsis.envs.sepsis import ICUSepsisEnv

        package = ICUSepsisEnv()
        kinds = np.arange(len(package.sofa_scores))
        flags = column(kinds == DEAD, kinds == SURVIVED)
        seen = np.hstack([column(package.sofa_scores), flags, package.state_cluster_centers])
        return seen, package.dynamics["tx_mat"], package.dynamics["d_0"]

    def starts(self, rng: Rng, count: int) -> Array:
        _, _, start = self.table
        return self.full(rng.choice(len(start), size=count, p=start))

    def full(self, kinds: Array) -> Array:
        """The logged columns, and the kind of patient, which nobody logs."""
        return np.hstack([self.table[0][kinds], column(kinds)])

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        _, chances, _ = self.table
        kinds = states[:, -1].astype(int)
        cumulative = np.cumsum(chances[kinds, treatment(actions)], axis=1)
        drawn = rng.random((len(states), 1)) * cumulative[:, -1:]
        return self.full((cumulative < drawn).sum(axis=1))

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        return (next_states[:, 2] > 0.5).astype(float)

    def ended(self, states: Array, actions: Array, next_states: Array) -> Array:
        return (next_states[:, 1] > 0.5) | (next_states[:, 2] > 0.5)

    @cached_property
    def ranked(self) -> list[Array]:
        """The treatments that doctors use for every kind of patient, from the worst to the best."""
        from icu_sepsis.envs.sepsis import ICUSepsisEnv

        _, chances, _ = self.table
        kinds = len(chances)
        values = np.where(np.arange(kinds) == SURVIVED, 1.0, 0.0)
        for _ in range(self.horizon):
            worth = chances @ values
            values = np.where(np.arange(kinds) < ALIVE, worth.max(axis=1), values)
        used = ICUSepsisEnv().dynamics["admissible_actions"]
        return [np.array(sorted(choices, key=worth[kind].__getitem__)) for kind, choices in enumerate(used[:ALIVE])]

    def kind(self, states: Array) -> Array:
        """The kind of patient whose measurements are nearest."""
        centres = self.table[0][:ALIVE, 3:]
        measured = states[:, 3 : 3 + MEASUREMENTS]
        return np.argmin((centres**2).sum(axis=1) - 2 * measured @ centres.T, axis=1)

    def act(self, parameters: Parameters, states: Array) -> Array:
        mild, severe = parameters
        kinds = self.kind(states)
        quality = np.where(states[:, 0] < SEVERE, mild, severe)
        count = np.array([len(choices) for choices in self.ranked])[kinds]
        places = np.clip(np.round(quality * (count - 1)), 0, count - 1).astype(int)
        chosen = np.array([self.ranked[kind][place] for kind, place in zip(kinds, places, strict=True)])
        return column(chosen // 5, chosen % 5).astype(float)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return np.clip(actions + rng.integers(-1, 2, actions.shape), 0, 4)

    def exact(self, parameters: Parameters) -> float:
        """By the probabilities of every kind of patient, step by step."""
        seen, chances, likely = self.table
        treatments = treatment(self.act(parameters, seen))
        move = chances[np.arange(len(seen)), treatments]
        alive = np.arange(len(seen)) < ALIVE
        survived = 0.0
        for _ in range(self.horizon):
            likely = np.where(alive, likely, 0.0) @ move
            survived += float(likely[SURVIVED])
        return survived


def treatment(actions: Array) -> Array:
    """The number of a pair of doses, as in the package."""
    doses = np.clip(np.round(actions), 0, 4).astype(int)
    return doses[:, 0] * 5 + doses[:, 1]
