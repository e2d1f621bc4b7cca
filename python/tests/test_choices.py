"""Actions that are choices, from the logs to the bound, in Python and by the command."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hambo

from .conftest import TINY

gymnasium = pytest.importorskip("gymnasium")


class Valves(gymnasium.Env):  # type: ignore[misc, name-defined, unused-ignore]
    """Two tanks, a valve of three positions and a pump that is on or off."""

    observation_space = gymnasium.spaces.Box(-5, 5, (2,), np.float32)
    action_space = gymnasium.spaces.MultiDiscrete([3, 2])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.levels, self.time = self.np_random.normal(size=2), 0
        return self.levels.astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        moved = 0.3 * np.array([action[0] - 1, 2 * action[1] - 1])
        self.levels = 0.9 * self.levels + moved + 0.05 * self.np_random.normal(size=2)
        self.time += 1
        return self.levels.astype(np.float32), -float(np.abs(self.levels).sum()), False, self.time >= 15, {}


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = os.environ.get("HAMBO_COMMAND")
    if program is None:
        pytest.skip("HAMBO_COMMAND names no command")
    return subprocess.run([program, *words], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("env", "choices"), [("CartPole-v1", [2]), (Valves(), [3, 2])], ids=["CartPole", "valves"])
def test_a_policy_that_chooses_is_the_same_as_object_and_file(env: Any, choices: list[int], tmp_path: Path) -> None:
    agents = pytest.importorskip("stable_baselines3")
    pytest.importorskip("onnx")
    agent = agents.PPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu").learn(64)
    data = hambo.Dataset.from_gymnasium(env, None, 600, seed=1)
    model = hambo.fit(data, TINY, seed=0)
    assert model.choices == choices
    assert hambo.export_policy(agent, tmp_path / "policy.onnx", data) == 0.0
    asked: dict[str, Any] = {"horizon": 10, "episodes": 100, "seed": 3}
    as_object = hambo.evaluate(model, agent, **asked)
    as_file = hambo.evaluate(model, tmp_path / "policy.onnx", **asked)
    assert as_object.lower_bound == as_file.lower_bound
    assert "foreign_actions" not in {warning.code for warning in as_object.warnings}
    # By the command from the table that a user would have.
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(data.states, columns=data.state_names)
    ends = np.cumsum(choices)
    for index, part in enumerate(np.split(data.actions, ends[:-1], axis=1)):
        table[f"choice_{index}"] = part.argmax(axis=1)
    table["reward"] = data.rewards
    for index, name in enumerate(data.state_names):
        table[f"next_{name}"] = data.next_states[:, index]
    steps = [len(episode.rewards) for episode in data.episodes]
    table["episode"] = np.repeat(np.arange(len(steps)), steps)
    last = np.cumsum(steps) - 1
    for flag in ("terminated", "truncated"):
        table[flag] = False
        table.loc[last, flag] = [getattr(episode, flag) for episode in data.episodes]
    table.to_csv(tmp_path / "logs.csv", index=False)
    actions = [f"choice_{index}" for index in range(len(choices))]
    settings = {
        "data.state": data.state_names,
        "data.next_state": [f"next_{name}" for name in data.state_names],
        "data.action": actions,
        "data.episode": "episode",
        "data.discrete_actions": choices,
        "model.ensemble.hidden": [8],
        "model.ensemble.max_steps": 30,
        "task.horizon": 10,
        "evaluation.episodes": 100,
    }
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    asked_for = ["--policy", "policy.onnx", "--delta", "0.05", "--json", "found.json"]
    done = command("evaluate", "logs.csv", *asked_for, *words, cwd=tmp_path)
    assert done.returncode in {0, 3}, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["data"]["names"]["actions"][0] == "choice_0_0"
    assert "foreign_actions" not in {warning["code"] for warning in found["warnings"]}


def test_numbers_and_choices_stand_side_by_side() -> None:
    rng = np.random.default_rng(0)
    actions = np.stack([rng.integers(0, 3, 40), rng.uniform(-1, 1, 40)], axis=1)
    walk = np.cumsum(rng.normal(size=(41, 2)), axis=0)
    states, next_states = walk[:-1], walk[1:]
    ends = np.arange(40) % 10 == 9
    data = hambo.Dataset.from_arrays(
        states,
        actions,
        rng.normal(size=40),
        next_states,
        truncated=ends,
        discrete_actions=[3, 0],
        action_names=["mode", "u"],
    )
    assert data.action_names == ["mode_0", "mode_1", "mode_2", "u"]
    np.testing.assert_array_equal(data.actions[:, :3].argmax(axis=1), actions[:, 0])
    np.testing.assert_array_equal(data.actions[:, 3], actions[:, 1].astype(np.float32))
    model = hambo.fit(data, TINY)
    assert model.choices == [3, 0]

    def policy(states: Any) -> Any:
        return np.stack([np.full(len(states), 2), np.full(len(states), 0.5)], axis=1)

    assert hambo.evaluate(model, policy, horizon=3, episodes=50).lower_bound is not None
    with pytest.raises(hambo.HamboError, match="chose 3, but the logs have the choices 0 to 2"):
        hambo.evaluate(model, lambda states: policy(states) + [1, 0], horizon=3, episodes=50)
    with pytest.raises(hambo.errors.DataError, match="speaks of 1 columns, but actions have 2"):
        hambo.Dataset.from_arrays(states, actions, rng.normal(size=40), states, truncated=ends, discrete_actions=[3])


def test_a_file_may_give_the_number_of_its_choice(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    data = hambo.Dataset.from_gymnasium("CartPole-v1", None, 300, seed=1)
    model = hambo.fit(data, TINY, seed=0)
    weight = np.array([[0.0, 0.0], [0.0, 0.1], [0.0, 1.0], [0.0, 1.0]], dtype=np.float32)
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("MatMul", ["state", "weight"], ["scores"]),
            onnx.helper.make_node("ArgMax", ["scores"], ["action"], axis=1, keepdims=0),
        ],
        "choice",
        [onnx.helper.make_tensor_value_info("state", onnx.TensorProto.FLOAT, [None, 4])],
        [onnx.helper.make_tensor_value_info("action", onnx.TensorProto.INT64, [None])],
        [onnx.numpy_helper.from_array(weight, "weight")],
    )
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    onnx.save(proto, tmp_path / "policy.onnx")
    asked: dict[str, Any] = {"horizon": 10, "episodes": 100, "seed": 3}
    as_file = hambo.evaluate(model, tmp_path / "policy.onnx", **asked)
    as_function = hambo.evaluate(model, lambda states: (states @ weight).argmax(axis=1)[:, None], **asked)
    assert as_file.lower_bound == as_function.lower_bound
    assert "foreign_actions" not in {warning.code for warning in as_file.warnings}


def test_a_drawn_choice_is_as_probable_as_the_policy_says(tmp_path: Path) -> None:
    agents, onnx = pytest.importorskip("stable_baselines3"), pytest.importorskip("onnx.reference")
    torch = pytest.importorskip("torch")
    agent = agents.PPO("MlpPolicy", Valves(), n_steps=64, seed=0, device="cpu")
    with torch.no_grad():
        agent.policy.action_net.weight.mul_(80)
    hambo.export_policy(agent, tmp_path / "policy.onnx", deterministic=False)
    states = np.repeat(np.array([[1.0, -1.0]], dtype=np.float32), 20_000, axis=0)
    noise = np.random.default_rng(0).standard_normal((20_000, 5)).astype(np.float32)
    (found,) = onnx.ReferenceEvaluator(str(tmp_path / "policy.onnx")).run(None, {"state": states, "noise": noise})
    parts = agent.policy.get_distribution(torch.as_tensor(states[:1])).distribution
    expected = np.concatenate([part.probs.detach().numpy()[0] for part in parts])
    # Four standard errors of 20,000 draws, at most.
    np.testing.assert_allclose(found.mean(axis=0), expected, atol=4 * 0.5 / 20_000**0.5)
    data = hambo.Dataset.from_gymnasium(Valves(), None, 300, seed=1)
    model = hambo.fit(data, TINY)
    drawn, best = (hambo.evaluate(model, given, horizon=5, episodes=50) for given in (tmp_path / "policy.onnx", agent))
    assert drawn.lower_bound != best.lower_bound


def test_episodes_of_rlds_are_read_as_they_are_meant() -> None:
    def step(index: int, last: int, terminal: bool) -> dict[str, Any]:
        return {
            "observation": {"joints": np.array([index, -index], np.float32), "gripper": np.float32(index % 2)},
            "action": np.array([0.1 * index]),
            "reward": float(index),
            "is_first": index == 0,
            "is_last": index == last,
            "is_terminal": terminal and index == last,
        }

    episodes = [{"steps": iter([step(i, last, last == 4) for i in range(last + 1)])} for last in (4, 3)]
    data = hambo.Dataset.from_rlds(iter(episodes))
    assert data.state_names == ["gripper", "joints_0", "joints_1"]
    assert [(episode.terminated, episode.truncated) for episode in data.episodes] == [(True, False), (False, True)]
    assert len(data) == 4 + 3
    np.testing.assert_array_equal(data.rewards[:4], [0, 1, 2, 3])
    np.testing.assert_array_equal(data.next_states[3], [0, 4, -4])
    with pytest.raises(hambo.errors.DataError, match="arrays of 8 x 8 x 3, such as images"):
        images = [{"observation": np.zeros((8, 8, 3)), "action": 0.0, "reward": 0.0} for _ in range(3)]
        hambo.Dataset.from_rlds([images])
    with pytest.raises(hambo.errors.DataError, match="set in the middle"):
        hambo.Dataset.from_rlds([[step(0, 9, False), step(0, 9, False)]])


def test_replay_buffers_of_d3rlpy_are_read() -> None:
    d3rlpy = pytest.importorskip("d3rlpy")
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, 3, (60, 1))
    terminals = (np.arange(60) % 20 == 19).astype(np.float32)
    buffer = d3rlpy.dataset.MDPDataset(
        rng.normal(size=(60, 2)).astype(np.float32),
        chosen,
        rng.normal(size=60).astype(np.float32),
        terminals,
        action_space=d3rlpy.constants.ActionSpace.DISCRETE,
        action_size=3,
    )
    data = hambo.Dataset.from_d3rlpy(buffer)
    assert (len(data.episodes), data.actions.shape[1]) == (3, 3)
    np.testing.assert_array_equal(data.actions[:5].argmax(axis=1), chosen[:5, 0])
    with pytest.raises(hambo.HamboError, match="is no replay buffer of d3rlpy"):
        hambo.Dataset.from_d3rlpy([1, 2])


def test_files_of_d3rlpy_with_images_or_several_parts_are_refused(tmp_path: Path) -> None:
    d3rlpy = pytest.importorskip("d3rlpy")
    rng = np.random.default_rng(0)
    ends = (np.arange(40) % 10 == 9).astype(np.float32)
    images = rng.integers(0, 255, (40, 1, 8, 8)).astype(np.uint8)
    parts = [rng.normal(size=(40, 2)).astype(np.float32), rng.normal(size=(40, 3)).astype(np.float32)]
    for observations, reason in [(images, "it has 4 dimensions, as images have"), (parts, "have several parts")]:
        actions, rewards = rng.normal(size=(40, 1)).astype(np.float32), rng.normal(size=(40, 1)).astype(np.float32)
        buffer = d3rlpy.dataset.MDPDataset(observations, actions, rewards, np.zeros(40), ends)
        with open(tmp_path / "logs.h5", "w+b") as file:
            buffer.dump(file)
        with pytest.raises(hambo.errors.FileError, match=reason):
            hambo.Dataset.open(tmp_path / "logs.h5")


def test_a_file_that_rarely_acts_differently_is_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")

    class Forgetful(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        """Traced with small states, it forgets what it does with a large one."""

        def forward(self, states: Any) -> Any:
            return states * 9 if bool((states > 50).any()) else states

    states = np.zeros((2_000, 1), dtype=np.float32)
    assert hambo.export_policy(Forgetful(), tmp_path / "policy.onnx", states) == 0.0
    states[7] = 100.0
    with pytest.raises(hambo.HamboError, match="acts differently from the policy"):
        hambo.export_policy(Forgetful(), tmp_path / "policy.onnx", states)
    assert not (tmp_path / "policy.onnx").exists()
