"""What the systems of the zoo have in common: a plant whose truth is known, its logs and its policies."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

import hambo

Array = np.ndarray
Rng = np.random.Generator
Parameters = tuple[float, ...]
Policy = Callable[[Array], Array]

TRUTH_EPISODES = 100_000
TRUTH_SEEDS = (101, 102)
"""Two independent samples: the first is the truth, the second checks it."""


class System(ABC):
    """A plant, and what its operator would tell hambo about it.

    A state may have columns that nobody logs; they come after the logged ones. Every policy of a system is its
    controller with other parameters.
    """

    name: str
    difficulty: str
    """Why a bound may fail here, in a few words."""
    horizon: int
    states: Sequence[str]
    """Names of the logged columns of a state."""
    actions: Sequence[str]
    learns_reward: bool = False
    """The operator has no formula for the reward."""
    ends: bool = False
    """Episodes may end before the horizon, by `ended`."""
    names_states: bool = False
    """The operator says that states are names, and not numbers."""
    episodes: int = 40
    """Logged episodes per source."""
    logged: Mapping[str, Parameters]
    """The policies that made the logs, by the name of their source."""
    close: Parameters
    """A policy like the logged ones."""
    further: Parameters
    """A policy that leaves them on purpose."""
    reckless: Parameters
    """A policy that should never be deployed."""
    search: tuple[Parameters, Parameters]
    """Smallest and largest parameters of policies that are tuned on the fitted model."""

    @abstractmethod
    def starts(self, rng: Rng, count: int) -> Array:
        """States in which episodes begin."""

    @abstractmethod
    def step(self, rng: Rng, states: Array, actions: Array) -> Array:
        """The states that follow."""

    @abstractmethod
    def reward(self, states: Array, actions: Array, next_states: Array) -> Array:
        """Of logged columns."""

    def ended(self, states: Array, actions: Array, next_states: Array) -> Array:
        """Which transitions end their episode, by logged columns."""
        return np.zeros(len(states), dtype=bool)

    @abstractmethod
    def act(self, parameters: Parameters, states: Array) -> Array:
        """Actions of the controller with these parameters in states of logged columns."""

    @abstractmethod
    def explore(self, rng: Rng, actions: Array) -> Array:
        """What was done instead of `actions` while the logs were made."""

    def exact(self, parameters: Parameters) -> float | None:
        """The true return, if it can be computed."""
        return None

    def observed(self, states: Array) -> Array:
        """The logged columns."""
        return states[:, : len(self.states)]


@dataclass(frozen=True)
class Steps:
    """One step of the episodes that still run."""

    numbers: Array
    states: Array
    actions: Array
    rewards: Array
    next_states: Array
    ended: Array


def play(system: System, act: Policy, rng: Rng, count: int, *, exploring: bool = False) -> Iterator[Steps]:
    """Episodes of a policy side by side, from their start to the horizon or their end."""
    states, numbers = system.starts(rng, count), np.arange(count)
    for _ in range(system.horizon):
        seen = system.observed(states)
        actions = act(seen)
        if exploring:
            actions = system.explore(rng, actions)
        following = system.step(rng, states, actions)
        seen_next = system.observed(following)
        ended = system.ended(seen, actions, seen_next)
        yield Steps(numbers, seen, actions, system.reward(seen, actions, seen_next), seen_next, ended)
        states, numbers = following[~ended], numbers[~ended]
        if not len(numbers):
            return


def simulated_return(system: System, act: Policy, seed: int, count: int) -> tuple[float, float]:
    """Mean return of so many episodes, and its standard error."""
    returns = np.zeros(count)
    for steps in play(system, act, np.random.default_rng(seed), count):
        returns[steps.numbers] += steps.rewards
    return float(returns.mean()), float(returns.std(ddof=1) / np.sqrt(count))


@cache
def true_logged_return(system: System, source: str) -> tuple[float, float]:
    """Of whoever acted as that source, exploration included, and its standard error."""
    returns = np.zeros(TRUTH_EPISODES)
    rng = np.random.default_rng(TRUTH_SEEDS[0])
    for steps in play(system, policy(system, system.logged[source]), rng, TRUTH_EPISODES, exploring=True):
        returns[steps.numbers] += steps.rewards
    return float(returns.mean()), float(returns.std(ddof=1) / np.sqrt(TRUTH_EPISODES))


def true_return(system: System, parameters: Parameters) -> tuple[float, float]:
    """The truth and its standard error, which is zero where it is exact."""
    exact = system.exact(parameters)
    if exact is not None:
        return exact, 0.0
    return simulated_return(system, policy(system, parameters), TRUTH_SEEDS[0], TRUTH_EPISODES)


@dataclass(frozen=True)
class Logs:
    """What was logged, row by row."""

    source: Array
    """The name of the policy that acted."""
    episode: Array
    states: Array
    actions: Array
    rewards: Array
    next_states: Array
    terminated: Array
    truncated: Array

    def returns(self) -> Array:
        """Of every episode."""
        return np.bincount(self.episode, self.rewards)

    def dataset(self, system: System) -> hambo.Dataset:
        return hambo.Dataset.from_arrays(
            self.states.astype(np.float32),
            self.actions.astype(np.float32),
            self.rewards.astype(np.float32),
            self.next_states.astype(np.float32),
            terminated=self.terminated,
            truncated=self.truncated,
            episode=self.episode,
            source=self.source,
            state_names=system.states,
            action_names=system.actions,
        )


def make_logs(system: System, seed: int) -> Logs:
    """Episodes of every source, one after the other."""
    rng = np.random.default_rng([seed, 0])
    rows: list[dict[str, Array]] = []
    for index, (source, parameters) in enumerate(system.logged.items()):
        episodes = play(system, policy(system, parameters), rng, system.episodes, exploring=True)
        for time, steps in enumerate(episodes):
            last = time == system.horizon - 1
            rows.append(
                {
                    "source": np.full(len(steps.numbers), source),
                    "episode": steps.numbers + index * system.episodes,
                    "time": np.full(len(steps.numbers), time),
                    "states": steps.states,
                    "actions": steps.actions,
                    "rewards": steps.rewards,
                    "next_states": steps.next_states,
                    "terminated": steps.ended,
                    "truncated": last & ~steps.ended,
                }
            )
    columns = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    order = np.lexsort((columns.pop("time"), columns["episode"]))
    return Logs(**{name: column[order] for name, column in columns.items()})


def policy(system: System, parameters: Parameters) -> Policy:
    """As hambo calls it."""
    return partial(system.act, parameters)


def column(*values: Array) -> Array:
    """One array per column, put side by side."""
    return np.stack(values, axis=1)


def jittered(rng: Rng, actions: Array, scale: float, low: float = -np.inf, high: float = np.inf) -> Array:
    """Actions with Gaussian noise, within limits."""
    return np.clip(actions + scale * rng.standard_normal(actions.shape), low, high)


def one_hot(choices: Array, count: int) -> Array:
    """Numbers of choices as `Dataset.from_arrays(discrete_actions=...)` encodes them."""
    return np.eye(count)[choices]


def mixed_up(rng: Rng, actions: Array, share: float) -> Array:
    """One-hot actions, of which a share is replaced by any choice."""
    count = actions.shape[1]
    anything = one_hot(rng.integers(count, size=len(actions)), count)
    return np.where(rng.random((len(actions), 1)) < share, anything, actions)
