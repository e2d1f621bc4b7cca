"""The field's estimators where the truth is known: are they as biased, and do limits hold as often, as theory says?

    python reproductions/estimators.py [--systems chain sepsis] [--replications 1000] [--processes 2]

Every replication draws new logs of a policy whose probabilities are logged, and asks about another policy. The
true return is computed from the transition probabilities. One row per system, method and limit in
`results/estimators.csv`; the replications themselves are kept in a folder, from which a stopped run goes on. Seeds from
100,000 on are for tuning.
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
from tidy import Row, write_rows

import hambo

RESULTS = Path(__file__).parent / "results" / "estimators.csv"
DELTA = 0.05
COLUMNS = [
    *("system", "episodes", "horizon", "replications", "method", "truth", "mean", "mean_error", "spread", "limit"),
    *("held", "held_low", "held_high", "effective"),
]
BLOCK = 50
"""Replications that are kept together."""


class Tabular:
    """A system of few states, of which everything is known."""

    def __init__(self, moves: np.ndarray, rewards: np.ndarray, start: np.ndarray, horizon: int, episodes: int) -> None:
        self.moves, self.rewards, self.start = moves, rewards, start
        """``[states, actions, states]``, ``[states, actions, states]``, ``[states]``."""
        self.horizon, self.episodes = horizon, episodes

    def truth(self, policy: np.ndarray) -> float:
        """The return of a policy ``[states, actions]``."""
        expected = (self.moves * self.rewards).sum(axis=2)
        values = np.zeros(len(self.start))
        for _ in range(self.horizon):
            values = (policy * (expected + self.moves @ values)).sum(axis=1)
        return float(self.start @ values)

    def logs(self, policy: np.ndarray, seed: int) -> hambo.Dataset:
        """Episodes of a policy, with the probabilities of its actions."""
        rng = np.random.default_rng(seed)
        states, actions, rewards, following = (np.zeros((self.episodes, self.horizon), int) for _ in range(4))
        rewards = rewards.astype(float)
        now = drawn(np.tile(self.start, (self.episodes, 1)), rng)
        for step in range(self.horizon):
            states[:, step], actions[:, step] = now, drawn(policy[now], rng)
            following[:, step] = drawn(self.moves[now, actions[:, step]], rng)
            rewards[:, step] = self.rewards[now, actions[:, step], following[:, step]]
            now = following[:, step]
        data = hambo.Dataset.from_arrays(
            states.reshape(-1, 1).astype(np.float32),
            actions.reshape(-1),
            rewards.reshape(-1),
            following.reshape(-1, 1).astype(np.float32),
            episode=np.repeat(np.arange(self.episodes), self.horizon),
            discrete_actions=policy.shape[1],
        )
        return data.with_log_probs(np.log(policy[states, actions]).reshape(-1))


def drawn(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One of the columns for every row."""
    edges = np.cumsum(shares, axis=1)
    return (rng.random((len(shares), 1)) * edges[:, -1:] > edges).sum(axis=1)


class Choices:
    """A policy ``[states, actions]`` that draws, and says how probable its actions are."""

    def __init__(self, policy: np.ndarray, seed: int) -> None:
        self.policy, self._rng = policy, np.random.default_rng(seed)

    def __call__(self, states: np.ndarray) -> np.ndarray:
        return drawn(self.policy[states[:, 0].astype(int)], self._rng)

    def log_prob(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.policy[states[:, 0].astype(int), actions.argmax(axis=1)])


def chain() -> tuple[Tabular, np.ndarray, np.ndarray]:
    """Five states in a row; a step to the side succeeds in 80 %, and going right costs."""
    count = 5
    moves, rewards = np.zeros((count, 2, count)), np.zeros((count, 2, count))
    for state in range(count):
        for action, to in ((0, max(state - 1, 0)), (1, min(state + 1, count - 1))):
            moves[state, action, to] += 0.8
            moves[state, action, state] += 0.2
            rewards[state, action] = state - 0.5 * action
    start = np.eye(count)[2]
    behaviour = np.tile([0.5, 0.5], (count, 1))
    evaluated = np.array([[0.2, 0.8], [0.3, 0.7], [0.4, 0.6], [0.6, 0.4], [0.7, 0.3]])
    return Tabular(moves, rewards, start, horizon=6, episodes=100), behaviour, evaluated


def sepsis() -> tuple[Tabular, np.ndarray, np.ndarray]:
    """ICU-Sepsis (Choudhary et al., 2024): 716 states, 25 actions, the clinicians' policy, survival earns 1."""
    from icu_sepsis.envs.sepsis import ICUSepsisEnv

    package = ICUSepsisEnv()
    parts, experts = package.dynamics, np.asarray(package.expert_policy)
    moves = parts["tx_mat"] / parts["tx_mat"].sum(axis=2, keepdims=True)
    # Nobody treats the dead and the survivors.
    experts = np.where(experts.sum(axis=1, keepdims=True) > 0, experts, 1.0)
    experts = experts / experts.sum(axis=1, keepdims=True)
    # Prefers what clinicians prefer a little more than they do.
    evaluated = experts**1.5 / (experts**1.5).sum(axis=1, keepdims=True)
    return Tabular(moves, parts["r_mat"], parts["d_0"], horizon=20, episodes=300), experts, evaluated


SYSTEMS = {"chain": cache(chain), "sepsis": cache(sepsis)}


def replicated(name: str, seed: int) -> list[dict]:
    """What all estimators say on one set of logs."""
    system, behaviour, evaluated = SYSTEMS[name]()
    data = system.logs(behaviour, seed)
    model = hambo.fit(data, hambo.Ensemble(tables=True), seed=seed, progress=False)
    found = hambo.baselines(
        model,
        Choices(evaluated, seed),
        data,
        horizon=system.horizon,
        delta=DELTA,
        seed=seed,
        # MOPO's weight would take most of the time.
        settings=hambo.BaselineSettings(penalties=(), episodes=200, resamples=1_000),
        progress=False,
        threads=1,
    )
    opinions = [opinion for opinion in found.opinions if opinion.method != "logged"]
    return [
        {"method": o.method, "estimate": o.estimate, "limits": o.limits, "effective": o.effective_episodes}
        for o in opinions
    ]


def block(name: str, first: int, folder: Path) -> Path:
    """Some replications, which are kept."""
    path = folder / f"{name}-{first}.json"
    if not path.exists():
        found = [replicated(name, seed) for seed in range(first, first + BLOCK)]
        path.write_text(json.dumps(found))
    return path


def summarised(name: str, found: list[list[dict]]) -> list[Row]:
    from scipy.stats import binomtest

    system, _, evaluated = SYSTEMS[name]()
    truth, rows = system.truth(evaluated), []
    for index, first in enumerate(found[0]):
        said = [replication[index] for replication in found]
        estimates = np.array([opinion["estimate"] for opinion in said])
        row: Row = {"system": name, "episodes": system.episodes, "horizon": system.horizon}
        row |= {"replications": len(said), "method": first["method"], "truth": round(truth, 6)}
        row |= {"mean": round(float(estimates.mean()), 6), "spread": round(float(estimates.std(ddof=1)), 6)}
        row |= {"mean_error": round(float(estimates.std(ddof=1) / np.sqrt(len(said))), 6)}
        effective = [opinion["effective"] for opinion in said if opinion["effective"] is not None]
        row |= {"effective": round(float(np.mean(effective)), 1) if effective else ""}
        for limit in first["limits"]:
            known = [opinion["limits"][limit] for opinion in said if limit in opinion["limits"]]
            held = sum(value <= truth for value in known)
            low, high = binomtest(held, len(known)).proportion_ci(method="exact")
            more = {"held_low": round(low, 3), "held_high": round(high, 3)}
            rows.append(row | {"limit": limit, "held": round(held / len(known), 3)} | more)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="*", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--replications", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, required=True, help="folder for the replications")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
        for name in arguments.systems:
            firsts = range(arguments.first, arguments.first + arguments.replications, BLOCK)
            jobs = [pool.submit(block, name, first, arguments.keep) for first in firsts]
            found = [replication for job in jobs for replication in json.loads(job.result().read_text())]
            rows += summarised(name, found)
            write_rows(arguments.results, rows, COLUMNS, lambda row: list(SYSTEMS).index(row["system"]))
            print(f"{name}: {len(found)} replications", flush=True)


if __name__ == "__main__":
    main()
