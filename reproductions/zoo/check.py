"""Do the systems that others have defined behave as they do there? Step by step, under their own policies.

    python reproductions/zoo/check.py

Needs gymnasium and icu-sepsis. States agree to 1e-5, because some of these environments compute in single precision.
"""

import gymnasium
import numpy as np
from system import System
from systems import SYSTEMS
from systems.frozen_lake import CHANCES, FINAL
from systems.icu_sepsis import IcuSepsis

from hambo.tasks import simulate

EPISODES = 60
TOLERANCE = 1e-5


def against_gymnasium(system: System, environment: str) -> tuple[float, int]:
    """The largest difference of next states and rewards, and how many episodes ended; ends must be the same."""
    env = gymnasium.make(environment).unwrapped
    rng = np.random.default_rng(0)
    policies = [*system.logged.values(), system.close, system.further, system.reckless]
    largest, ends = 0.0, 0
    for episode in range(EPISODES):
        parameters = policies[episode % len(policies)]
        seen, _ = env.reset(seed=episode)
        for _ in range(system.horizon):
            states = np.array(seen, dtype=float)[np.newaxis]
            actions = system.explore(rng, system.act(parameters, states))
            discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
            seen, reward, ended, _, _ = env.step(int(actions.argmax()) if discrete else actions[0].astype(np.float32))
            following = system.step(rng, states, actions)
            assert bool(system.ended(states, actions, following)[0]) == bool(ended), (environment, episode)
            largest = max(largest, float(np.abs(following[0] - seen).max()))
            if environment != "CartPole-v1":  # which pays otherwise here
                largest = max(largest, abs(float(system.reward(states, actions, following)[0]) - float(reward)))
            if ended:
                ends += 1
                break
    return largest, ends


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
    for name, environment in [
        ("cartpole", "CartPole-v1"),
        ("acrobot", "Acrobot-v1"),
        ("mountain_car", "MountainCarContinuous-v0"),
        ("pendulum", "Pendulum-v1"),
    ]:
        difference, ends = against_gymnasium(SYSTEMS[name], environment)
        print(f"{name}: {EPISODES} episodes, {ends} ended early, at most {difference:.1e} from {environment}")
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
