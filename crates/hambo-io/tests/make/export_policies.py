"""Policies of Stable-Baselines3 and d3rlpy, rewards and terminations as ONNX files, with the answers that their own library gives.

    python export_policies.py OUT --rows 10000
    python export_policies.py ../data/policies --rows 200      # the committed ones

See README.md for the files beside each model.
"""

import argparse
import functools
from pathlib import Path

import d3rlpy
import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO, SAC, TD3
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from onnx_files import write_case

SMALL = [64, 64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=200)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for make in (sac_pendulum, td3_pendulum, ppo_pendulum, ppo_normalised, sac_hopper, d3rlpy_policies, rewards, terminations):
        make(arguments.out, arguments.rows)


class SacActor(nn.Module):
    """The mode of SAC's squashed Gaussian, scaled to the action space.

    SAC's mean and standard deviation describe the action before tanh: exporting those as a Gaussian policy would be wrong.
    """

    def __init__(self, actor, space):
        super().__init__()
        self.latent_pi, self.mu = actor.latent_pi, actor.mu
        self.register_buffer("low", torch.as_tensor(space.low))
        self.register_buffer("high", torch.as_tensor(space.high))

    def forward(self, state):
        squashed = torch.tanh(self.mu(self.latent_pi(state)))
        return self.low + 0.5 * (squashed + 1.0) * (self.high - self.low)


class Td3Actor(nn.Module):
    def __init__(self, actor, space):
        super().__init__()
        self.mu = actor.mu
        self.register_buffer("low", torch.as_tensor(space.low))
        self.register_buffer("high", torch.as_tensor(space.high))

    def forward(self, state):
        return self.low + 0.5 * (self.mu(state) + 1.0) * (self.high - self.low)


class PpoMean(nn.Module):
    """PPO's deterministic action: the Gaussian's mean, clipped to the action space as `predict` does."""

    def __init__(self, policy, space):
        super().__init__()
        self.latent, self.head = policy.mlp_extractor.policy_net, policy.action_net
        self.register_buffer("low", torch.as_tensor(space.low))
        self.register_buffer("high", torch.as_tensor(space.high))

    def forward(self, state):
        return torch.clamp(self.head(self.latent(state)), self.low, self.high)


class PpoGaussian(nn.Module):
    """PPO's distribution before clipping: a true Gaussian with one standard deviation per action, equal in all states."""

    def __init__(self, policy):
        super().__init__()
        self.latent, self.head, self.log_std = policy.mlp_extractor.policy_net, policy.action_net, policy.log_std

    def forward(self, state):
        mean = self.head(self.latent(state))
        return mean, self.log_std.expand_as(mean)


class Normalised(nn.Module):
    """VecNormalize's statistics as constants in front of a policy."""

    def __init__(self, policy: nn.Module, statistics: VecNormalize):
        super().__init__()
        self.policy, self.clip = policy, statistics.clip_obs
        deviation = np.sqrt(statistics.obs_rms.var + statistics.epsilon)
        self.register_buffer("mean", torch.as_tensor(statistics.obs_rms.mean, dtype=torch.float32))
        self.register_buffer("deviation", torch.as_tensor(deviation, dtype=torch.float32))

    def forward(self, state):
        return self.policy(torch.clamp((state - self.mean) / self.deviation, -self.clip, self.clip))


def inputs_for(env_id: str, rows: int) -> np.ndarray:
    """Half of the rows are visited under random actions, half far from there."""
    env = gymnasium.make(env_id)
    env.action_space.seed(0)
    rng = np.random.default_rng(0)
    state, _ = env.reset(seed=0)
    visited = []
    while len(visited) < rows - rows // 2:
        visited.append(state)
        state, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            state, _ = env.reset()
    elsewhere = 3.0 * rng.standard_normal((rows // 2, len(state)))
    return np.concatenate([np.array(visited), elsewhere]).astype(np.float32)


def predict(model, states: np.ndarray) -> np.ndarray:
    return model.predict(states, deterministic=True)[0].reshape(len(states), -1)


def sac_pendulum(out: Path, rows: int) -> None:
    model = SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": SMALL}, learning_starts=200, seed=0, device="cpu").learn(2000)
    states = inputs_for("Pendulum-v1", rows)
    actor = SacActor(model.actor, model.action_space)
    write_case(out, "sac_pendulum", actor, [states], {"action": predict(model, states)})


def td3_pendulum(out: Path, rows: int) -> None:
    model = TD3("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": SMALL}, learning_starts=200, seed=0, device="cpu").learn(2000)
    states = inputs_for("Pendulum-v1", rows)
    actor = Td3Actor(model.actor, model.action_space)
    write_case(out, "td3_pendulum", actor, [states], {"action": predict(model, states)})


def ppo_pendulum(out: Path, rows: int) -> None:
    model = PPO("MlpPolicy", "Pendulum-v1", seed=0, device="cpu").learn(4096)
    states = inputs_for("Pendulum-v1", rows)
    write_case(out, "ppo_pendulum", PpoMean(model.policy, model.action_space), [states], {"action": predict(model, states)})
    with torch.no_grad():
        distribution = model.policy.get_distribution(torch.as_tensor(states)).distribution
    answers = {"mean": distribution.mean.numpy(), "log_std": distribution.stddev.log().numpy()}
    write_case(out, "ppo_pendulum_gaussian", PpoGaussian(model.policy), [states], answers)


def ppo_normalised(out: Path, rows: int) -> None:
    env = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Hopper-v5")]))
    model = PPO("MlpPolicy", env, seed=0, device="cpu").learn(4096)
    states = inputs_for("Hopper-v5", rows)
    answer = predict(model, env.normalize_obs(states))
    actor = Normalised(PpoMean(model.policy, model.action_space), env)
    write_case(out, "ppo_hopper_normalised", actor, [states], {"action": answer})


def sac_hopper(out: Path, rows: int) -> None:
    """The size at which speed is measured: 11-256-256-3."""
    kwargs = {"net_arch": [256, 256]}
    model = SAC("MlpPolicy", "Hopper-v5", policy_kwargs=kwargs, learning_starts=500, seed=0, device="cpu").learn(1500)
    states = inputs_for("Hopper-v5", rows)
    actor = SacActor(model.actor, model.action_space)
    write_case(out, "sac_hopper_256", actor, [states], {"action": predict(model, states)})


def d3rlpy_policies(out: Path, rows: int) -> None:
    """d3rlpy's own files: `save_policy` declares a batch of one; the second file is the same policy with a free batch."""
    d3rlpy.seed(0)
    algorithm = trained_td3_plus_bc()
    states = inputs_for("Pendulum-v1", rows)
    answer = algorithm.predict(states).astype(np.float32)

    # d3rlpy calls torch's exporter without saying which; it needs the one that takes traced scripts.
    original = torch.onnx.export
    torch.onnx.export = functools.partial(original, dynamo=False)
    try:
        path = out / "d3rlpy_td3_plus_bc_batch_one.onnx"
        algorithm.save_policy(str(path))
    finally:
        torch.onnx.export = original
    write_case(out, path.stem, None, [states], {"output_0": answer})

    class Actor(nn.Module):
        def __init__(self):
            super().__init__()
            self.policy = algorithm.impl.modules.policy

        def forward(self, state):
            # The same scalers as in `trained_td3_plus_bc`, by the library's own code.
            scaled = algorithm.config.observation_scaler.transform(state)
            return algorithm.config.action_scaler.reverse_transform(self.policy(scaled).squashed_mu)

    write_case(out, "d3rlpy_td3_plus_bc", Actor(), [states], {"action": answer})


def trained_td3_plus_bc():
    env = gymnasium.make("Pendulum-v1")
    env.action_space.seed(0)
    observations, actions, rewards, timeouts = [], [], [], []
    for episode in range(5):
        state, _ = env.reset(seed=episode)
        truncated = False
        while not truncated:
            action = env.action_space.sample()
            observations.append(state)
            actions.append(action)
            state, reward, _, truncated, _ = env.step(action)
            rewards.append(reward)
            timeouts.append(truncated)
    dataset = d3rlpy.dataset.MDPDataset(
        observations=np.array(observations, dtype=np.float32),
        actions=np.array(actions, dtype=np.float32),
        rewards=np.array(rewards, dtype=np.float32),
        terminals=np.zeros(len(rewards), dtype=np.float32),
        timeouts=np.array(timeouts, dtype=np.float32),
    )
    encoder = d3rlpy.models.VectorEncoderFactory(SMALL)
    algorithm = d3rlpy.algos.TD3PlusBCConfig(
        actor_encoder_factory=encoder,
        critic_encoder_factory=encoder,
        observation_scaler=d3rlpy.preprocessing.StandardObservationScaler(),
        action_scaler=d3rlpy.preprocessing.MinMaxActionScaler(minimum=-2.0, maximum=2.0),
    ).create(device="cpu:0")
    algorithm.fit(dataset, n_steps=1000, n_steps_per_epoch=1000, show_progress=False, logger_adapter=d3rlpy.logging.NoopAdapterFactory())
    return algorithm


class PendulumReward(nn.Module):
    """Gymnasium's reward, [batch, 1]: the angle is found from its cosine, its square has no sign."""

    def forward(self, state, action, next_state):
        angle = torch.acos(torch.clamp(state[:, 0:1], -1.0, 1.0))
        return -(angle**2 + 0.1 * state[:, 2:3] ** 2 + 0.001 * torch.clamp(action, -2.0, 2.0) ** 2)


class HopperReward(nn.Module):
    """Hopper-like, [batch]: forward speed, effort, and a price on sudden turns so that all three inputs matter."""

    def forward(self, state, action, next_state):
        turn = next_state[:, 1] - state[:, 1]
        return 1.0 + next_state[:, 5] - 0.001 * (action**2).sum(dim=1) - 0.1 * turn.abs()


class HopperUnhealthy(nn.Module):
    """Gymnasium's rule for Hopper-v5: too low, too tilted, or any other element out of range."""

    def forward(self, state, action, next_state):
        in_range = (next_state[:, 1:].abs() < 100.0).all(dim=1)
        return ~(in_range & (next_state[:, 0] > 0.7) & (next_state[:, 1].abs() < 0.2))


class AsFloat(nn.Module):
    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner

    def forward(self, state, action, next_state):
        return self.inner(state, action, next_state).to(torch.float32)


def steps_of(env_id: str, rows: int) -> list[np.ndarray]:
    """Steps of the environment under random actions: states, actions, next states, and its own rewards and terminations."""
    env = gymnasium.make(env_id)
    env.action_space.seed(1)
    state, _ = env.reset(seed=1)
    columns = [[], [], [], [], []]
    for _ in range(rows):
        action = env.action_space.sample()
        following, reward, terminated, truncated, _ = env.step(action)
        for column, value in zip(columns, (state, action, following, reward, terminated), strict=True):
            column.append(value)
        state = env.reset()[0] if terminated or truncated else following
    return [np.array(column, dtype=np.float32) for column in columns]


def rewards(out: Path, rows: int) -> None:
    state, action, following, _, _ = steps_of("Hopper-v5", rows)
    with torch.no_grad():
        answer = HopperReward()(*map(torch.as_tensor, (state, action, following))).numpy()
    write_case(out, "reward", HopperReward(), [state, action, following], {"reward": answer})

    state, action, following, answer, _ = steps_of("Pendulum-v1", rows)
    with torch.no_grad():
        computed = PendulumReward()(*map(torch.as_tensor, (state, action, following))).numpy()
    # The environment computes in float64 from the true angle, the graph in float32 from its cosine.
    assert np.abs(computed[:, 0] - answer).max() < 5e-3, np.abs(computed[:, 0] - answer).max()
    write_case(out, "reward_pendulum", PendulumReward(), [state, action, following], {"reward": computed[:, 0]})


def terminations(out: Path, rows: int) -> None:
    state, action, following, _, terminated = steps_of("Hopper-v5", rows)
    inputs, answers = [state, action, following], {"terminated": terminated}
    write_case(out, "termination", HopperUnhealthy(), inputs, answers, declare_unused_inputs=True)
    write_case(out, "termination_float", AsFloat(HopperUnhealthy()), inputs, answers)


if __name__ == "__main__":
    main()
