"""Minari datasets in all storages, written and read back by Minari itself."""

import os
import warnings
from contextlib import contextmanager
from pathlib import Path

import gymnasium
import minari
import numpy as np
from gymnasium.spaces import Box, Discrete
from minari.data_collector import EpisodeBuffer

from random_logs import BOOLEAN, FLOAT, Log

DATASET_ID = "random/ds-v0"


def write_minari(log: Log, folder: Path, storage: str, rng: np.random.Generator):
    """Returns the dataset's folder relative to `folder`, and the dataset as Minari opens it."""
    root = folder / f"minari_{storage}"
    observation_space = random_space(rng, log.state_kinds, log.episodes, "states")
    if log.discrete_actions is None:
        action_space = random_space(rng, log.action_kinds, log.episodes, "actions")
    else:
        action_space = Discrete(log.discrete_actions)
    with minari_root(root):
        # The collector takes a step at a time, and marks an episode without an end as truncated. Buffers may have neither flag.
        if rng.random() < 0.4:
            collect(log, observation_space, action_space, storage, record_infos=bool(rng.random() < 0.5))
        else:
            buffers = [to_buffer(episode, observation_space, action_space) for episode in log.episodes]
            minari.create_dataset_from_buffers(
                DATASET_ID,
                buffers,
                observation_space=observation_space,
                action_space=action_space,
                data_format=storage,
            )
        return f"{root.name}/{DATASET_ID}", minari.load_dataset(DATASET_ID)


def collect_pendulum(folder: Path, storage: str, seed: int):
    """Three short episodes of Gymnasium's Pendulum-v1 under random torques; the last is cut off by the log's end."""
    root = folder / f"minari_{storage}"
    with minari_root(root):
        env = gymnasium.make("Pendulum-v1", max_episode_steps=20)
        env.action_space.seed(seed)
        collector = minari.DataCollector(env, data_format=storage)
        for episode, steps in enumerate([20, 20, 7]):
            collector.reset(seed=seed + episode)
            for _ in range(steps):
                collector.step(collector.action_space.sample())
        collector.create_dataset("pendulum/random-v0")
        collector.close()
        return f"{root.name}/pendulum/random-v0", minari.load_dataset("pendulum/random-v0")


@contextmanager
def minari_root(root: Path):
    """Minari finds its datasets by an environment variable, and warns about every unset piece of metadata."""
    before = os.environ.get("MINARI_DATASETS_PATH")
    os.environ["MINARI_DATASETS_PATH"] = str(root.resolve())  # Minari mistakes relative paths
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if before is None:
            del os.environ["MINARI_DATASETS_PATH"]
        else:
            os.environ["MINARI_DATASETS_PATH"] = before


def random_space(rng, kinds: list[str], episodes, name: str) -> Box:
    largest = max(np.abs(getattr(episode, name)).max() for episode in episodes)
    dtype = [np.float32, np.float64][rng.integers(2)]
    if FLOAT not in kinds and rng.random() < 0.5:
        dtype = np.int32 if largest < 2**31 else np.int64
    if set(kinds) == {BOOLEAN} and rng.random() < 0.5:
        dtype = np.int8
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return Box(limits.min, limits.max, shape=(len(kinds),), dtype=dtype)
    return Box(-np.inf, np.inf, shape=(len(kinds),), dtype=dtype)


def stored_actions(actions: np.ndarray, space) -> np.ndarray:
    return actions[:, 0].astype(np.int64) if isinstance(space, Discrete) else actions.astype(space.dtype)


def to_buffer(episode, observation_space, action_space) -> EpisodeBuffer:
    length = len(episode.rewards)
    ends = np.arange(length) == length - 1
    return EpisodeBuffer(
        observations=episode.states.astype(observation_space.dtype),
        actions=stored_actions(episode.actions, action_space),
        rewards=list(episode.rewards),
        terminations=list(ends & episode.terminated),
        truncations=list(ends & episode.truncated),
        infos={},
    )


class Replay(gymnasium.Env):
    """Plays a log's episodes one after the other, whatever is done."""

    def __init__(self, log: Log, observation_space, action_space):
        self.log, self.observation_space, self.action_space = log, observation_space, action_space
        self.number = -1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number += 1
        self.at = 0
        return self.observation(), self.info()

    def step(self, action):
        episode = self.log.episodes[self.number]
        reward = episode.rewards[self.at]
        self.at += 1
        ended = self.at == len(episode.rewards)
        flags = (ended and episode.terminated, ended and episode.truncated)
        return self.observation(), reward, *flags, self.info()

    def observation(self):
        return self.log.episodes[self.number].states[self.at].astype(self.observation_space.dtype)

    def info(self) -> dict:
        return {"at": self.at, "rewards": np.zeros(2)}


def collect(log: Log, observation_space, action_space, storage: str, *, record_infos: bool) -> None:
    env = Replay(log, observation_space, action_space)
    collector = minari.DataCollector(env, data_format=storage, record_infos=record_infos)
    for number, episode in enumerate(log.episodes):
        collector.reset(seed=number)
        for action in stored_actions(episode.actions, action_space):
            collector.step(action)
    collector.create_dataset(DATASET_ID)
    collector.close()
