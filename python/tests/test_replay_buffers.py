"""Replay buffers of Stable-Baselines3: a stand-in of the same shape everywhere, the real one where it is installed."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hambo


def box(low: float, high: float) -> Any:
    return SimpleNamespace(low=np.array([low]), high=np.array([high]))


def buffer(size: int = 12, envs: int = 1, **changes: Any) -> Any:
    """Filled as `ReplayBuffer.add` does it, with nothing in it yet."""
    made = SimpleNamespace(
        buffer_size=size,
        n_envs=envs,
        pos=0,
        full=False,
        observations=np.zeros((size, envs, 2), dtype=np.float32),
        next_observations=np.zeros((size, envs, 2), dtype=np.float32),
        actions=np.zeros((size, envs, 1), dtype=np.float32),
        rewards=np.zeros((size, envs), dtype=np.float32),
        dones=np.zeros((size, envs), dtype=np.float32),
        timeouts=np.zeros((size, envs), dtype=np.float32),
        optimize_memory_usage=False,
        handle_timeout_termination=True,
        action_space=box(-2.0, 4.0),
        observation_space=box(-1.0, 1.0),
    )
    made.__dict__.update(changes)
    return made


def add(made: Any, steps: int, length: int = 4, ends: str = "timeout") -> None:
    """Steps of a walk along a line, whose second column is the number of the episode."""
    for _ in range(steps):
        step, row = made.__dict__.setdefault("step", 0), made.pos
        now = np.array([step % length, step // length], dtype=np.float32)
        made.observations[row] = now
        made.next_observations[row] = now + np.array([1, 0], dtype=np.float32)
        made.actions[row] = step % 2
        made.rewards[row] = step
        made.dones[row] = last = step % length == length - 1
        made.timeouts[row] = last and ends == "timeout"
        made.step = step + 1
        made.pos = (row + 1) % made.buffer_size
        made.full = made.full or made.pos == 0


def test_time_limits_are_no_terminations() -> None:
    made = buffer()
    add(made, 4, ends="timeout")
    add(made, 4, ends="failure")
    add(made, 2)
    data = hambo.Dataset.from_sb3(made)
    assert [(episode.terminated, episode.truncated) for episode in data.episodes] == [
        (False, True),
        (True, False),
        (False, True),
    ]
    assert data.rewards.tolist() == list(range(10))


def test_the_oldest_episode_of_a_full_buffer_is_left_out() -> None:
    made = buffer(size=10)
    add(made, 15)
    data = hambo.Dataset.from_sb3(made)
    # Steps 5 to 14 are there, and step 8 is the first that begins an episode.
    assert data.rewards.tolist() == list(range(8, 15))
    np.testing.assert_array_equal(data.initial_states, [[0, 2], [0, 3]])


def test_boxes_are_unscaled_and_choices_one_hot() -> None:
    made = buffer()
    add(made, 8)
    assert set(hambo.Dataset.from_sb3(made).actions[:, 0]) == {1.0, 4.0}
    assert set(hambo.Dataset.from_sb3(made, scaled_actions=False).actions[:, 0]) == {0.0, 1.0}
    made.action_space = SimpleNamespace(n=3, start=0)
    data = hambo.Dataset.from_sb3(SimpleNamespace(replay_buffer=made))
    np.testing.assert_array_equal(data.actions[:2], np.eye(3)[:2])


def test_several_environments_are_kept_apart() -> None:
    made = buffer(envs=2)
    add(made, 6)
    data = hambo.Dataset.from_sb3(made)
    assert [len(episode.rewards) for episode in data.episodes] == [4, 2, 4, 2]


def test_a_reset_without_an_end_begins_a_new_episode() -> None:
    made = buffer()
    add(made, 2)
    made.step = 4  # what a second call of `learn` does
    add(made, 4)
    data = hambo.Dataset.from_sb3(made)
    assert [(len(episode.rewards), episode.truncated) for episode in data.episodes] == [(2, True), (4, True)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "a `int` is no replay buffer"),
        (None, "None is no replay buffer"),
        (buffer(optimize_memory_usage=True), "does not keep the last observation"),
        (buffer(observations={"a": 1}), "are a dictionary; flatten them"),
        (buffer(), "holds no episode"),
    ],
)
def test_what_cannot_be_used_is_refused(given: Any, message: str) -> None:
    with pytest.raises(hambo.HamboError, match=message):
        hambo.Dataset.from_sb3(given)


def test_a_buffer_that_is_shorter_than_an_episode_holds_none() -> None:
    made = buffer(size=3)
    add(made, 7, length=100)
    with pytest.raises(hambo.errors.DataError, match="no episode whose beginning is known"):
        hambo.Dataset.from_sb3(made)


def test_unknown_time_limits_are_told(caplog: pytest.LogCaptureFixture) -> None:
    made = buffer(handle_timeout_termination=False)
    add(made, 8, ends="failure")
    assert hambo.Dataset.from_sb3(made).summary()["terminated_episodes"] == 2
    assert "handle_timeout_termination=False" in caplog.text
    assert caplog.records[0].levelno == logging.WARNING


@pytest.mark.parametrize(("algorithm", "environment"), [("SAC", "Pendulum-v1"), ("DQN", "CartPole-v1")])
def test_real_buffers_are_read(algorithm: str, environment: str) -> None:
    agents = pytest.importorskip("stable_baselines3")
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(environment, max_episode_steps=50)
    agent = getattr(agents, algorithm)("MlpPolicy", env, seed=0, device="cpu", learning_starts=10_000, buffer_size=500)
    agent.learn(320)
    data = hambo.Dataset.from_sb3(agent)
    assert len(data) == 320
    agent.learn(400)
    later = hambo.Dataset.from_sb3(agent.replay_buffer)
    assert agent.replay_buffer.full and 430 < len(later) < 500
    if algorithm == "SAC":
        angle = np.arctan2(later.states[:, 1], later.states[:, 0])
        cost = angle**2 + 0.1 * later.states[:, 2] ** 2 + 0.001 * later.actions[:, 0] ** 2
        # The true reward holds for actions as the environment got them.
        np.testing.assert_allclose(later.rewards, -cost, atol=1e-4)
        assert data.summary()["terminated_episodes"] == 0
    else:
        assert set(later.actions.sum(axis=1)) == {1.0} and later.summary()["terminated_episodes"] > 5


def test_a_model_behind_vecnormalize_is_warned_about(model: hambo.Model, caplog: pytest.LogCaptureFixture) -> None:
    class Agent:
        def predict(self, observation: Any, deterministic: bool = False) -> Any:
            return np.zeros((len(observation), 1)), None

        def get_vec_normalize_env(self) -> Any:
            return SimpleNamespace(norm_obs=True)

    hambo.evaluate(model, Agent(), horizon=3, episodes=60)
    assert any("VecNormalize" in record.getMessage() for record in caplog.records)
