"""Do the logs object where a bound is too high, and only there? A battery that trips, five policies, several seeds.

    python python/benchmarks/second_opinion.py [SEEDS]

The plant: charge, cell temperature and price; the current earns the price and heats the cell; above 55 degrees, or
empty, it trips, which costs 30 and ends the day. Logged policies are cautious. The evaluated ones go from cautious to
reckless, and the model, small and fitted on 10,000 rows, knows too little of high currents.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import hambo

Array = npt.NDArray[np.float32]
Rng = np.random.Generator
Steps = list[dict[str, npt.NDArray[Any]]]

HORIZON = 96
TRIPS = "next_temperature > 55 || next_charge < 0.02"
REWARD = f"-(next_charge - charge) * price - 30 * ({TRIPS})"
ENSEMBLE = hambo.Ensemble(hidden=[64, 64], max_steps=3_000, learn_reward=True)
ADVERSARY = hambo.Adversary(hidden=[64, 64], batch_size=256, episodes=100, gradient_steps=200, max_rounds=12)
# Amperes per cent below or above the mean price, and the temperature above which the current is cut.
POLICIES = [(4, 48), (8, 48), (15, 50), (15, 54), (30, 60)]


def starts(rng: Rng, count: int) -> Array:
    """States in the morning."""
    columns = [rng.uniform(0.3, 0.7, count), rng.normal(27, 3, count), rng.uniform(10, 30, count)]
    return np.stack(columns, axis=1).astype(np.float32)


def step(rng: Rng, states: Array, current: Array) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Next states, rewards, and who tripped."""
    charge, temperature, price = states.T
    change = current / 60 * 0.06 * (1 - 0.1 * (current > 0))
    following = np.clip(charge + change, 0, 1)
    heat = 0.0016 * current**2 * (1 + 0.02 * (temperature - 25)) - 0.12 * (temperature - 25)
    warmer = temperature + heat + rng.normal(0, 0.25, len(states))
    dearer = price + 0.1 * (20 - price) + rng.normal(0, 2.2, len(states))
    tripped = (warmer > 55) | (following < 0.02)
    rewards = -(following - charge) * price - 30 * tripped
    return np.stack([following, warmer, dearer], axis=1).astype(np.float32), rewards.astype(np.float32), tripped


def trader(gain: float, limit: float) -> Callable[[Array], Array]:
    """Charges when the price is low, discharges when it is high, and less when it is hot."""

    def act(states: Array) -> Array:
        charge, temperature, price = states.T
        current = np.clip(gain * (20 - price), -60, 60)
        current = np.where((charge < 0.12) & (current < 0) | (charge > 0.95) & (current > 0), 0, current)
        return np.where(temperature > limit, 0.2 * current, current)[:, np.newaxis].astype(np.float32)

    return act


def days(
    rng: Rng, policy: Callable[[Array], Array], count: int, noise: float = 0.0
) -> tuple[npt.NDArray[np.float64], Steps]:
    """Returns, and what happened in each step to the episodes that still ran."""
    states, numbers = starts(rng, count), np.arange(count)
    returns = np.zeros(count)
    steps: Steps = []
    for time in range(HORIZON):
        wanted = policy(states)[:, 0] + noise * rng.standard_normal(len(states))
        current: Array = np.clip(wanted, -60, 60).astype(np.float32)
        following, rewards, tripped = step(rng, states, current)
        last = np.full(len(states), time == HORIZON - 1)
        columns: dict[str, npt.NDArray[Any]] = {
            "charge": states[:, 0],
            "temperature": states[:, 1],
            "price": states[:, 2],
            "current": current,
        }
        columns |= {f"next_{name}": following[:, index] for index, name in enumerate(list(columns)[:3])}
        columns |= {"reward": rewards, "terminated": tripped, "truncated": last & ~tripped}
        columns |= {"episode": numbers, "step": np.full(len(states), time)}
        steps.append(columns)
        returns[numbers] += rewards
        states, numbers = following[~tripped], numbers[~tripped]
    return returns, steps


def logs(rng: Rng) -> hambo.Dataset:
    """26 days each of four cautious policies, with noise on the current."""
    parts: Steps = []
    for index, gain in enumerate([2, 4, 6, 8]):
        for columns in days(rng, trader(gain, 48), 26, noise=10)[1]:
            parts.append(columns | {"episode": columns["episode"] + 26 * index})
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((table["step"], table["episode"]))
    table = {name: column[order] for name, column in table.items()}
    names = ["charge", "temperature", "price"]
    return hambo.Dataset.from_arrays(
        states=np.stack([table[name] for name in names], axis=1),
        actions=table["current"][:, np.newaxis],
        rewards=table["reward"],
        next_states=np.stack([table[f"next_{name}"] for name in names], axis=1),
        terminated=table["terminated"],
        truncated=table["truncated"],
        state_names=names,
        action_names=["current"],
    )


def main() -> None:
    """Print one row per seed, policy and reward."""
    print("seed  policy  reward   true return   bound  second opinion  verdict at the bound; warnings")
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        model = hambo.fit(logs(np.random.default_rng(seed)), ENSEMBLE, seed=seed, progress=False)
        for gain, limit in POLICIES:
            truth = days(np.random.default_rng(1_000), trader(gain, limit), 3_000)[0].mean()
            for name, reward in [("learned", None), ("rule", REWARD)]:
                found = hambo.evaluate(
                    model,
                    trader(gain, limit),
                    horizon=HORIZON,
                    reward=reward,
                    termination=TRIPS,
                    variants=["CA", "DAinf"],
                    episodes=1_000,
                    cost_episodes=0,
                    adversary=ADVERSARY,
                    seed=seed,
                    progress=False,
                )
                bound, opinion = found.lower_bound, found.second_opinion
                assert bound is not None and opinion is not None
                warnings = ", ".join(sorted({warning.code for warning in found.warnings}))
                print(
                    f"{seed:4}  {gain:2}, {limit}  {name:7}  {truth:11.1f}  {bound:6.1f}  {opinion.mean:14.1f}"
                    f"  {found.verdict(bound)}; {warnings or 'none'}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
