"""Insulin after meals: what is given now works an hour later, and too much is worse than too little."""

import numpy as np
from system import Array, Parameters, Rng, System, column, jittered

TARGET, LOW, MOST = 110.0, 65.0, 6.0


class Glucose(System):
    name = "glucose"
    difficulty = "delay: doses on their way are hidden"
    horizon = 48
    states = ["glucose", "before", "food"]
    actions = ["insulin"]
    # Units without need, per 100 mg/dl above the target, per 100 mg/dl of rise.
    logged = {"careful": (1.0, 1.0, 0.0), "usual": (1.2, 2.0, 1.0), "steady": (1.6, 1.0, 0.5)}
    close = (1.2, 1.4, 0.5)
    further = (1.0, 2.5, 3.0)
    reckless = (2.0, 5.0, 0.0)
    search = ((0.0, 0.0, -2.0), (3.0, 6.0, 6.0))

    def starts(self, rng: Rng, count: int) -> Array:
        glucose = rng.normal(140, 25, count)
        waiting = np.full(count, 1.0)
        return column(glucose, glucose, np.zeros(count), waiting, waiting, waiting)

    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        glucose, _, food, first, second, working = states.T
        dose = np.clip(actions[:, 0], 0, MOST)
        meal = np.where(rng.random(len(states)) < 0.08, rng.uniform(40, 100, len(states)), 0.0)
        change = 0.25 * food + 0.04 * (TARGET - glucose) + 8.0 - 8.0 * working + rng.normal(0, 2.0, len(states))
        following = np.clip(glucose + change, 20, 500)
        # A dose passes two places before it works.
        return column(
            following,
            glucose,
            0.75 * food + meal,
            0.6 * first + 0.4 * dose,
            0.6 * second + 0.4 * first,
            0.6 * working + 0.4 * second,
        )

    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        glucose = next_states[:, 0]
        return -(((glucose - TARGET) / 60.0) ** 2) - 10.0 * (glucose < LOW)

    def act(self, parameters: Parameters, states: Array) -> Array:
        always, above, rising = parameters
        glucose, before, _ = states.T
        return np.clip(column(always + above * (glucose - TARGET) / 100 + rising * (glucose - before) / 100), 0, MOST)

    def explore(self, rng: Rng, actions: Array) -> Array:
        return jittered(rng, actions, 0.3, 0, MOST)
