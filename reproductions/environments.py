"""The environments of the benchmark, their policies, and the settings of the paper."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnxruntime

POLICIES = Path(__file__).parent / "policies"
OFFLINE = ["bc", "td3_bc", "sac_in_model"]
"""Policies that were learned from the logs alone, see `offline.py`."""

Behaviour = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""Actions for observations."""

Checkpoint = int | str
"""A policy by its training steps, or one of `OFFLINE`."""


@dataclass(frozen=True)
class Environment:
    """An environment, and how it is evaluated."""

    name: str
    evaluated: int
    """The checkpoint to evaluate, by its training steps."""
    behaviours: dict[str, list[int]]
    """Checkpoints that make the data, per kind of data set; equal shares of it."""
    horizons: list[int]
    unit_rows: list[int]
    """Sizes of the data behind the models that judge every policy, see `units.py`."""
    unit_horizon: int
    reward: str | None = None
    """As for `hambo.evaluate`; learned from the data without one."""
    healthy: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Between which values, exclusive, columns of the next state must be; otherwise the episode ends."""
    state_bounds: str | None = None
    prior_temperature: float = 1e-4
    steps_for_many: int | None = None
    """Gradient steps of the fit from 10^5 transitions on, where the default's are too few; see FINDINGS.md."""
    truth_episodes: int = 1_000

    def make(self) -> Any:
        """The environment without a time limit, because horizons differ."""
        return gymnasium.make(self.name).unwrapped

    @property
    def time_limit(self) -> int:
        return int(gymnasium.spec(self.name).max_episode_steps or 1_000)

    def policies(self) -> list[Checkpoint]:
        """All committed ones."""
        names = [path.stem for path in (POLICIES / self.name).glob("*.onnx") if "stochastic" not in path.stem]
        return sorted(int(name) for name in names if name.isdigit()) + [name for name in OFFLINE if name in names]

    @property
    def termination(self) -> str | None:
        """As for `hambo.evaluate`."""
        limits = [
            f"next_obs_{column} {sign} {limit}"
            for column, (low, high) in self.healthy.items()
            for sign, limit in (("<=", low), (">=", high))
            if np.isfinite(limit)
        ]
        return " || ".join(limits) or None

    def fell(self, state: np.ndarray) -> bool:
        """Whether an episode ends there."""
        return not all(low < state[column] < high for column, (low, high) in self.healthy.items())

    def policy(self, checkpoint: Checkpoint) -> Path:
        return POLICIES / self.name / f"{checkpoint}.onnx"

    def initial_states(self, count: int, seed: int) -> np.ndarray:
        """First observations of `count` resets."""
        env = self.make()
        states = [env.reset(seed=seed)[0]] + [env.reset()[0] for _ in range(count - 1)]
        return np.array(states, dtype=np.float32)


ENVIRONMENTS = {
    "pendulum": Environment(
        name="Pendulum-v1",
        evaluated=20_000,
        behaviours={"mixed": [2_000, 3_000]},
        horizons=[100, 200, 400],
        unit_rows=[10_000],
        unit_horizon=200,
        reward="pendulum",
        state_bounds="pendulum",
        truth_episodes=10_000,
    ),
    "hopper": Environment(
        name="Hopper-v5",
        evaluated=200_000,
        behaviours={"mixed": [40_000, 60_000, 80_000]},
        horizons=[100, 200, 400],
        unit_rows=[10_000, 100_000],
        unit_horizon=200,
        # The authors' own: finite, no huge speed, upright.
        healthy={0: (0.7, np.inf), 1: (-0.2, 0.2), **{column: (-100, 100) for column in range(2, 11)}},
        steps_for_many=12_000,
    ),
    "halfcheetah": Environment(
        name="HalfCheetah-v5",
        evaluated=200_000,
        behaviours={"single": [120_000], "mixed": [60_000, 80_000, 120_000]},
        horizons=[100, 150],
        unit_rows=[100_000],
        unit_horizon=100,
        prior_temperature=1e-2,
        steps_for_many=12_000,
    ),
}


class Actor:
    """A committed policy, for batches of observations."""

    def __init__(self, environment: Environment, checkpoint: Checkpoint, *, stochastic: bool = False) -> None:
        path = environment.policy(checkpoint)
        if stochastic:
            path = path.with_stem(f"{checkpoint}_stochastic")
        options = onnxruntime.SessionOptions()
        # The same bits whatever else the machine does.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._stochastic = stochastic
        space = gymnasium.spec(environment.name).make().action_space
        self._low, self._high = space.low, space.high

    def __call__(self, observations: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        outputs = self._session.run(None, {"observation": observations.astype(np.float32)})
        if not self._stochastic:
            return outputs[0]
        mean, log_std = outputs
        squashed = np.tanh(mean + np.exp(log_std) * rng.standard_normal(mean.shape, dtype=np.float32))
        return self._low + 0.5 * (squashed + 1.0) * (self._high - self._low)


def lockstep(
    environment: Environment, actor: Behaviour, *, episodes: int, seed: int, width: int = 50
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray, list[tuple[np.ndarray, float, bool]]]]:
    """Runs `episodes` episodes, `width` at a time, each until it terminates or the caller stops asking.

    Yields per step the numbers of the running episodes, their observations, actions and outcomes. The caller sends
    the set of episodes to end.
    """
    rng = np.random.default_rng(seed)
    waiting = iter(range(episodes))
    running: dict[int, tuple[Any, np.ndarray]] = {}
    idle = [environment.make() for _ in range(min(width, episodes))]
    while True:
        while idle and (number := next(waiting, None)) is not None:
            env = idle.pop()
            # Every episode has its own seed, so that one does not depend on the length of others.
            running[number] = (env, env.reset(seed=seed * 1_000_003 + number)[0])
        if not running:
            return
        numbers = list(running)
        observations = np.array([running[number][1] for number in numbers], dtype=np.float32)
        actions = actor(observations, rng)
        outcomes = []
        for number, action in zip(numbers, actions, strict=True):
            following, reward, terminated, _, _ = running[number][0].step(action)
            outcomes.append((following, float(reward), bool(terminated)))
            running[number] = (running[number][0], following)
        ended = yield numbers, observations, actions, outcomes
        for number, (_, _, terminated) in zip(numbers, outcomes, strict=True):
            if terminated or number in (ended or ()):
                idle.append(running.pop(number)[0])


def played(environment: Environment, actor: Behaviour, *, episodes: int, steps: int, seed: int) -> np.ndarray:
    """The rewards of every episode, `[episodes, steps]`; zero after its end."""
    rewards, taken = np.zeros((episodes, steps)), np.zeros(episodes, dtype=int)
    run = lockstep(environment, actor, episodes=episodes, seed=seed)
    ended: set[int] | None = None
    while True:
        try:
            numbers, _, _, outcomes = run.send(ended)
        except StopIteration:
            return rewards
        for number, (_, reward, _) in zip(numbers, outcomes, strict=True):
            rewards[number, taken[number]] = reward
            taken[number] += 1
        ended = {number for number in numbers if taken[number] == steps}
