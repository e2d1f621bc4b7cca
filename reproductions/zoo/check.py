"""Do the systems that others have defined behave as they do there? Step by step, over random actions.

    python reproductions/zoo/check.py

Needs gymnasium and icu-sepsis. States agree to 1e-5, because some of these environments compute in single precision.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from system import System
from systems import SYSTEMS
from systems.frozen_lake import CHANCES, FINAL
from systems.icu_sepsis import IcuSepsis

from hambo.tasks import simulate

STEPS = 3_000
TOLERANCE = 1e-5


def against_gymnasium(system: System, environment: str, action: Callable[[Any, np.ndarray], Any]) -> float:
    """The largest difference of next states and rewards; ends must be the same."""
    env = gymnasium.make(environment).unwrapped
    rng = np.random.default_rng(0)
    seen, _ = env.reset(seed=0)
    largest = 0.0
    for step in range(STEPS):
        # What the environment is in, where it shows less than it knows.
        inside = np.array(seen, dtype=float)
        chosen = np.eye(len(system.actions))[rng.integers(len(system.actions))]
        if isinstance(env.action_space, gymnasium.spaces.Box):
            chosen = rng.uniform(env.action_space.low, env.action_space.high)
        seen, reward, ended, _, _ = env.step(action(env, chosen))
        states, actions = inside[np.newaxis], chosen[np.newaxis].astype(float)
        following = system.step(rng, states, actions)
        assert bool(system.ended(states, actions, following)[0]) == bool(ended), (environment, step)
        largest = max(largest, float(np.abs(following[0] - seen).max()))
        if environment != "CartPole-v1":  # which here has a wall that costs
            largest = max(largest, abs(float(system.reward(states, actions, following)[0]) - float(reward)))
        if ended or step % 200 == 199:
            seen, _ = env.reset()
    return largest


def frozen_lake() -> float:
    """The table of probabilities is Gymnasium's."""
    table = gymnasium.make("FrozenLake-v1").unwrapped.P
    found = np.zeros_like(CHANCES)
    for place, choices in table.items():
        for choice, outcomes in choices.items():
            for chance, following, _, _ in outcomes:
                found[place, choice, following] += chance
    return float(np.abs(found - CHANCES)[~FINAL].max())


def point_safety() -> float:
    """The steps and rewards are those of the built-in task."""
    system = SYSTEMS["point_safety"]
    walk = lambda states: np.full((len(states), 2), [0.4, 0.1])  # noqa: E731
    logs = simulate("point_safety", walk, episodes=10, horizon=20)
    following = system.step(np.random.default_rng(0), logs.states, logs.actions)
    rewards = system.reward(logs.states, logs.actions, following)
    return float(max(np.abs(following - logs.next_states).max(), np.abs(rewards - logs.rewards).max()))


def icu_sepsis(episodes: int = 4_000) -> float:
    """The package's own environment earns what the exact value says, in standard errors."""
    from icu_sepsis.envs.sepsis import ICUSepsisEnv

    system = SYSTEMS["icu_sepsis"]
    assert isinstance(system, IcuSepsis)
    env = ICUSepsisEnv()
    seen, _, _ = system.table
    doses = system.act(system.close, seen[:-3]).astype(int)
    returns = np.zeros(episodes)
    kind, _ = env.reset(seed=0)
    for episode in range(episodes):
        for _ in range(system.horizon):
            kind, reward, ended, _, info = env.step(doses[kind])
            assert ended == bool(system.ended(*[seen[[kind]]] * 3)[0])
            assert reward == system.reward(*[seen[[kind]]] * 3)[0]
            assert info["sofa_score"] == seen[kind, 0]
            returns[episode] += reward
            if ended:
                break
        kind, _ = env.reset()
    return float(abs(returns.mean() - system.exact(system.close)) / (returns.std() / episodes**0.5))


def main() -> None:
    number = lambda env, chosen: int(np.argmax(chosen))  # noqa: E731
    as_is = lambda env, chosen: chosen.astype(np.float32)  # noqa: E731
    for name, environment, action in [
        ("cartpole", "CartPole-v1", number),
        ("acrobot", "Acrobot-v1", number),
        ("mountain_car", "MountainCarContinuous-v0", as_is),
        ("pendulum", "Pendulum-v1", as_is),
    ]:
        difference = against_gymnasium(SYSTEMS[name], environment, action)
        print(f"{name}: {STEPS} steps, at most {difference:.1e} from {environment}")
        assert difference < TOLERANCE
    print(f"frozen_lake: probabilities at most {frozen_lake():.1e} from FrozenLake-v1")
    assert frozen_lake() < 1e-12
    print(f"point_safety: at most {point_safety():.1e} from the built-in task")
    assert point_safety() < TOLERANCE
    apart = icu_sepsis()
    print(f"icu_sepsis: the package's environment earns the exact value, {apart:.1f} standard errors apart")
    assert apart < 4.0


if __name__ == "__main__":
    main()
