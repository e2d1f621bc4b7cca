"""Random logs as they were meant, before any format stores them."""

from dataclasses import dataclass, replace

import numpy as np

# What a column's numbers are. It limits the types that a file may store them in.
FLOAT, INTEGER, BOOLEAN = "float", "integer", "boolean"


@dataclass(frozen=True)
class Limits:
    """How large a random log may become."""

    state_dim: int = 12
    action_dim: int = 4
    episodes: int = 30
    length: int = 60
    fewest_episodes: int = 1


@dataclass(frozen=True)
class Episode:
    """T steps: `states` is [T + 1, state_dim], `actions` [T, action columns], `rewards` [T]."""

    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: bool
    truncated: bool


@dataclass(frozen=True)
class Log:
    """Episodes in float64. With `discrete_actions` the single action column holds 0, 1, ..., k - 1."""

    episodes: list[Episode]
    state_kinds: list[str]
    action_kinds: list[str]
    reward_kind: str
    discrete_actions: int | None

    @property
    def mapping(self) -> dict:
        return {} if self.discrete_actions is None else {"discrete_actions": self.discrete_actions}


def random_log(rng: np.random.Generator, limits: Limits) -> Log:
    state_dim = int(rng.integers(1, limits.state_dim + 1))
    state_kinds = random_kinds(rng, state_dim)
    discrete = int(rng.integers(2, 7)) if rng.random() < 0.25 else None
    action_kinds = [INTEGER] if discrete else random_kinds(rng, int(rng.integers(1, limits.action_dim + 1)))
    reward_kind = INTEGER if rng.random() < 0.1 else FLOAT

    lengths = rng.integers(1, limits.length + 1, size=rng.integers(limits.fewest_episodes, limits.episodes + 1))
    if rng.random() < 0.2:  # many very short episodes: some vanish when the next states are not stored
        lengths = np.minimum(lengths, rng.integers(1, 4, size=len(lengths)))
    # Without stored next states an episode of one row vanishes; a dataset must keep at least one row.
    lengths[0] = max(lengths[0], 2)

    state_scales = random_scales(rng, state_kinds)
    action_scales = random_scales(rng, action_kinds)
    reward_scale = random_scales(rng, [reward_kind])
    episodes = []
    for length in rng.permutation(lengths):
        ending = rng.choice(["terminated", "truncated", "both", "neither"], p=[0.4, 0.3, 0.1, 0.2])
        actions = random_values(rng, int(length), action_kinds, action_scales)
        if discrete:
            actions = rng.integers(0, discrete, size=(length, 1)).astype(np.float64)
        episodes.append(
            Episode(
                states=random_values(rng, int(length) + 1, state_kinds, state_scales),
                actions=actions,
                rewards=random_values(rng, int(length), [reward_kind], reward_scale)[:, 0],
                terminated=bool(ending in ("terminated", "both")),
                truncated=bool(ending in ("truncated", "both")),
            )
        )
    return Log(episodes, state_kinds, action_kinds, reward_kind, discrete)


def random_kinds(rng, dim: int) -> list[str]:
    style = rng.choice(["floats", "integers", "booleans", "mixed"], p=[0.7, 0.1, 0.05, 0.15])
    if style == "mixed":
        return [str(kind) for kind in rng.choice([FLOAT, INTEGER, BOOLEAN], size=dim, p=[0.6, 0.25, 0.15])]
    return [{"floats": FLOAT, "integers": INTEGER, "booleans": BOOLEAN}[style]] * dim


def random_scales(rng, kinds: list[str]) -> np.ndarray:
    # Integers reach 2^40: float32 rounds them, float64 does not, so there is one right answer.
    integer = rng.choice([3, 100, 2**24, 2**40], size=len(kinds), p=[0.3, 0.5, 0.1, 0.1])
    real = 10.0 ** rng.uniform(-6, 6, size=len(kinds))
    return np.where([kind == INTEGER for kind in kinds], integer, real).astype(np.float64)


def random_values(rng, rows: int, kinds: list[str], scales: np.ndarray) -> np.ndarray:
    values = rng.standard_normal((rows, len(kinds))) * scales
    for column, kind in enumerate(kinds):
        if kind == INTEGER:
            values[:, column] = rng.integers(-int(scales[column]), int(scales[column]) + 1, size=rows)
        elif kind == BOOLEAN:
            values[:, column] = rng.integers(0, 2, size=rows)
    return values


def with_visible_ends(log: Log, rng, *, ids: bool, steps: bool, truncations: bool) -> Log:
    """The same log with endings that a file with just these columns can express.

    An episode that ends with neither flag shows only by its id or step, unless it is the last one.
    """
    episodes = []
    for number, episode in enumerate(log.episodes):
        terminated, truncated = episode.terminated, episode.truncated and truncations
        shown_by_itself = ids or steps or number == len(log.episodes) - 1
        if not (terminated or truncated or shown_by_itself):
            truncated = bool(truncations and rng.random() < 0.5)
            terminated = not truncated
        episodes.append(replace(episode, terminated=terminated, truncated=truncated))
    return replace(log, episodes=episodes)
