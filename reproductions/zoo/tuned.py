"""A policy that was tuned on the fitted model: it finds what the model gets wrong in its favour."""

import numpy as np
from system import Logs, Parameters, System

import hambo


def tuned(system: System, model: hambo.Model, logs: Logs, seed: int, settings: dict[str, int]) -> Parameters:
    """The best controller by cross-entropy search over its parameters, on the model's own predictions."""
    rng = np.random.default_rng([seed, 1])
    low, high = np.array(system.search)
    centre, spread = (low + high) / 2, (high - low) / 2
    first = model.initial_states[rng.integers(len(model.initial_states), size=settings["starts"])]

    def best_of(candidates: np.ndarray, count: int) -> np.ndarray:
        """The best last."""
        returns = predicted_returns(system, model, logs, candidates, first, rng)
        return candidates[np.argsort(returns)[-count:]]

    finalists = []
    for _ in range(settings["rounds"]):
        drawn = rng.normal(centre, spread, (settings["candidates"], len(centre)))
        best = best_of(np.clip(drawn, low, high), settings["kept"])
        centre, spread = best.mean(axis=0), best.std(axis=0)
        finalists.append(best)
    # Judged again with other noise, so that luck counts less. The centre itself may be worse than all of them.
    [winner] = best_of(np.concatenate(finalists), 1)
    return tuple(float(value) for value in winner)


def predicted_returns(
    system: System,
    model: hambo.Model,
    logs: Logs,
    candidates: np.ndarray,
    first: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """The mean return of every candidate from the same starts, as the fitted model predicts it."""
    lowest, highest = logs.next_states.min(axis=0), logs.next_states.max(axis=0)
    # Where predictions may go by default: half the logged range beyond it.
    margin = (highest - lowest) / 2
    states = np.tile(first, (len(candidates), 1))
    running = np.ones(len(states), dtype=bool)
    returns = np.zeros(len(states))
    for _ in range(system.horizon):
        blocks = np.split(states, len(candidates))
        actions = np.concatenate([system.act(tuple(p), block) for p, block in zip(candidates, blocks, strict=True)])
        outcomes = drawn(model, states, actions, rng)
        following = np.clip(outcomes[:, : states.shape[1]], lowest - margin, highest + margin)
        rewards = outcomes[:, -1] if system.learns_reward else system.reward(states, actions, following)
        returns += running * rewards
        running &= ~system.ended(states, actions, following)
        states = following
    return returns.reshape(len(candidates), -1).mean(axis=1)


def drawn(model: hambo.Model, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What follows, by the whole ensemble; outcomes that were counted have no mean."""
    if model.fit_report["model"] == "table":
        return model.draw(states, actions, seed=int(rng.integers(2**32)))
    found = model.predict(states, actions)
    return found.mean + found.aleatoric_std * rng.standard_normal(found.mean.shape)
