"""How good a model of the dynamics is, where that matters: over many steps, on episodes that it has not seen.

Every model is a set of worlds, hambo's and its peers' alike; see `Worlds`. Errors of states are in standard
deviations of the logged ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from environments import Actor, Environment
from scipy.special import logsumexp
from scipy.stats import t as student

Array = np.ndarray
# Worlds may not leave the range of the logs widened by half, as in hambo's own rollouts.
WIDENING = 0.5


class Worlds(Protocol):
    """An ensemble whose members are worlds of their own."""

    members: int

    def predict(self, member: int, states: Array, actions: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the next state and, as the last column, the reward if it is learned."""
        ...


@dataclass(frozen=True)
class Logs:
    """Rows of logs, in order."""

    states: Array
    actions: Array
    rewards: Array
    next_states: Array
    episode: Array
    source: Array

    @property
    def outcomes(self) -> Array:
        return np.column_stack([self.next_states, self.rewards])


def logs_of(table) -> Logs:  # noqa: ANN001 (a pyarrow table, which has no stubs)
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}

    def block(stem: str) -> Array:
        count = sum(name.startswith(f"{stem}_") for name in columns)
        return np.column_stack([columns[f"{stem}_{index}"] for index in range(count)]).astype(np.float32)

    return Logs(
        block("obs"),
        block("action"),
        columns["reward"].astype(np.float32),
        block("next_obs"),
        columns["episode"],
        columns["source"].astype(str),
    )


@dataclass(frozen=True)
class Scales:
    """What the logs that models are fitted on look like."""

    state: Array
    outcome: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, logs: Logs) -> "Scales":
        change = logs.outcomes.copy()
        change[:, :-1] -= logs.states
        low, high = logs.next_states.min(axis=0), logs.next_states.max(axis=0)
        margin = WIDENING * (high - low)
        return cls(logs.states.std(axis=0), change.std(axis=0), low - margin, high + margin)

    def clamped(self, states: Array) -> Array:
        # A model that has lost its way may say that something is no number.
        middle = (self.low + self.high) / 2
        return np.clip(np.where(np.isfinite(states), states, middle), self.low, self.high).astype(np.float32)


def one_step(worlds: Worlds, held_out: Logs, scales: Scales, outputs: int) -> dict[str, float]:
    """Errors over the standard deviation of a step's change, and the log-likelihood per row in these units."""
    truth = held_out.outcomes[:, :outputs]
    scale = scales.outcome[:outputs]
    means, likelihoods = [], []
    for member in range(worlds.members):
        mean, std = worlds.predict(member, held_out.states, held_out.actions)
        mean, std = mean[:, :outputs], std[:, :outputs] / scale
        means.append(mean)
        error = (truth - mean) / scale / std
        likelihoods.append((-0.5 * error**2 - np.log(std)).sum(axis=1))
    members = np.array([np.sqrt((((mean - truth) / scale) ** 2).mean(axis=0)) for mean in means])
    together = np.sqrt((((np.mean(means, axis=0) - truth) / scale) ** 2).mean(axis=0))
    mixture = logsumexp(likelihoods, axis=0) - np.log(worlds.members)
    return {
        "one_step": float(members.mean()),
        "one_step_together": float(together.mean()),
        "likelihood": float(np.mean(likelihoods)),
        "mixture_likelihood": float(mixture.mean()),
    }


@dataclass(frozen=True)
class Windows:
    """Pieces of held-out episodes: `[window, step]` rows of the logs."""

    rows: Array
    source: Array


def windows(held_out: Logs, length: int, most: int, rng: np.random.Generator) -> Windows:
    """Pieces without overlap, at most so many, each from one episode."""
    rows = []
    for episode in np.unique(held_out.episode):
        [of_it] = np.nonzero(held_out.episode == episode)
        starts = range(0, len(of_it) - length + 1, length)
        rows += [of_it[start : start + length] for start in starts]
    if not rows:
        raise ValueError(f"no held-out episode has {length} steps")
    chosen = rng.permutation(len(rows))[:most]
    found = np.array(rows)[chosen]
    return Windows(found, held_out.source[found[:, 0]])


def replay(
    worlds: Worlds, held_out: Logs, pieces: Windows, feedback: Callable[[str, Array], Array], scales: Scales
) -> tuple[Array, Array]:
    """States after every step `[member, window, step, column]` and rewards, without noise.

    Logged actions, corrected by what the policy that chose them would have done about the difference.
    """
    count, length = pieces.rows.shape
    width = held_out.states.shape[1]
    states = np.empty((worlds.members, count, length, width), dtype=np.float32)
    rewards = np.zeros((worlds.members, count, length), dtype=np.float32)
    for member in range(worlds.members):
        now = held_out.states[pieces.rows[:, 0]]
        for step in range(length):
            rows = pieces.rows[:, step]
            actions = held_out.actions[rows].copy()
            for source in np.unique(pieces.source):
                of_it = pieces.source == source
                correction = feedback(source, now[of_it]) - feedback(source, held_out.states[rows[of_it]])
                actions[of_it] += correction
            mean, _ = worlds.predict(member, now, actions)
            now = scales.clamped(mean[:, :width])
            states[member, :, step] = now
            if mean.shape[1] > width:
                rewards[member, :, step] = mean[:, width]
    return states, rewards


def over_steps(
    worlds: Worlds,
    held_out: Logs,
    environment: Environment,
    scales: Scales,
    horizons: list[int],
    most: int,
    seed: int,
) -> dict[str, float]:
    """For each horizon the error of the single worlds, of their mean, and how often the truth is where they say."""
    actors = {str(source): Actor(environment, int(source)) for source in np.unique(held_out.source)}
    rng = np.random.default_rng(seed)
    space = environment.make().action_space

    def feedback(source: str, states: Array) -> Array:
        return np.clip(actors[source](states, rng), space.low, space.high)

    found: dict[str, float] = {}
    for horizon in horizons:
        pieces = windows(held_out, horizon, most, np.random.default_rng(seed))
        states, _ = replay(worlds, held_out, pieces, feedback, scales)
        truth = held_out.next_states[pieces.rows[:, -1]]
        ends = states[:, :, -1] / scales.state
        truth = truth / scales.state
        each = np.sqrt(((ends - truth) ** 2).mean(axis=2))
        mean = ends.mean(axis=0)
        together = np.sqrt(((mean - truth) ** 2).mean(axis=1))
        count = worlds.members
        reach = student.ppf(0.95, count - 1) * np.sqrt(1 + 1 / count) * ends.std(axis=0, ddof=1)
        found |= {
            f"error_{horizon}": float(np.median(each)),
            f"mean_error_{horizon}": float(each.mean()),
            f"error_together_{horizon}": float(np.median(together)),
            f"covered_{horizon}": float((np.abs(mean - truth) <= reach).mean()),
            f"windows_{horizon}": len(pieces.rows),
        }
    return found


def estimates(
    worlds: Worlds,
    environment: Environment,
    actor: Actor,
    starts: Array,
    scales: Scales,
    noise: float,
    seed: int,
) -> Array:
    """What each world says that a policy earns over the horizon, with a share of the noise that it has learned."""
    rng = np.random.default_rng(seed)
    horizon = environment.unit_horizon
    space = environment.make().action_space
    returns = np.zeros(worlds.members)
    for member in range(worlds.members):
        now, alive = starts.copy(), np.ones(len(starts), dtype=bool)
        earned = np.zeros(len(starts))
        for _ in range(horizon):
            if not alive.any():
                break
            actions = np.clip(actor(now[alive], rng), space.low, space.high).astype(np.float32)
            mean, std = worlds.predict(member, now[alive], actions)
            drawn = mean + noise * std * rng.standard_normal(mean.shape, dtype=np.float32) if noise else mean
            following = scales.clamped(drawn[:, : now.shape[1]])
            if environment.reward == "pendulum":
                reward = pendulum_reward(now[alive], actions)
                following = on_circle(following)
            else:
                reward = drawn[:, now.shape[1]]
            earned[alive] += reward
            now[alive] = following
            alive[alive] = [not environment.fell(state) for state in following]
        returns[member] = earned.mean()
    return returns


def pendulum_reward(states: Array, actions: Array) -> Array:
    angle = np.arctan2(states[:, 1], states[:, 0])
    return -(angle**2 + 0.1 * states[:, 2] ** 2 + 0.001 * actions[:, 0] ** 2)


def on_circle(states: Array) -> Array:
    """As hambo's built-in bounds of Pendulum: an angle's cosine and sine, and a speed of at most 8."""
    states = states.copy()
    states[:, :2] /= np.maximum(np.linalg.norm(states[:, :2], axis=1, keepdims=True), 1e-6)
    states[:, 2] = np.clip(states[:, 2], -8, 8)
    return states
