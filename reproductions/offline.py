"""Policies that were learned from the logs alone, which is what most users want to evaluate.

    python reproductions/offline.py hopper --models OUT/full/models

Behaviour cloning and TD3+BC by d3rlpy, and Stable-Baselines3's SAC inside the model that hambo fitted, all on the logs
of seed 0. They are exported to `policies/`, so that nobody else has to learn them; `returns.py` finds what they earn.
Needs d3rlpy, stable-baselines3, torch and onnx, and for SAC the model that `run` or `units.py` left.
"""

import argparse
import sys
from pathlib import Path

import d3rlpy
import gymnasium
import numpy as np
import torch
from d3rlpy.models.encoders import VectorEncoderFactory
from d3rlpy_logs import as_d3rlpy
from data import transitions
from environments import ENVIRONMENTS, OFFLINE, POLICIES, Environment
from stable_baselines3 import SAC

import hambo

sys.path.append(str(Path(__file__).parent / "zoo"))
from systems.pendulum import Pendulum  # noqa: E402, which is in a folder beside

PENDULUM = Pendulum()
SEED = 0
STEPS = {"bc": 10_000, "td3_bc": 30_000, "sac_in_model": 30_000}
HIDDEN = [128, 128]


def learn_by_d3rlpy(environment: Environment, name: str, rows: int) -> torch.nn.Module:
    """By its recommended scales."""
    table = transitions(environment, "mixed", rows, SEED)
    data, scalers = as_d3rlpy(environment, table)
    encoder = VectorEncoderFactory(HIDDEN)
    d3rlpy.seed(SEED)
    if name == "bc":
        config = d3rlpy.algos.BCConfig(batch_size=256, encoder_factory=encoder, **scalers)
    else:
        config = d3rlpy.algos.TD3PlusBCConfig(
            batch_size=256, actor_encoder_factory=encoder, critic_encoder_factory=encoder, **scalers
        )
    learner = config.create(device="cpu:0")
    steps = STEPS[name]
    learner.fit(
        data,
        n_steps=steps,
        n_steps_per_epoch=steps,
        show_progress=False,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
    )
    return Learned(learner)


class Learned(torch.nn.Module):
    """The action that a learner of d3rlpy prefers, in the environment's units."""

    def __init__(self, learner: d3rlpy.algos.QLearningAlgoBase) -> None:
        super().__init__()
        self.learner = learner
        modules = learner.impl.modules
        # A registered network, so that its weights are exported.
        self.network = modules.imitator if hasattr(modules, "imitator") else modules.policy

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        scaled = self.learner.observation_scaler.transform(observation)
        action = self.learner.impl.inner_predict_best_action(scaled)
        return self.learner.action_scaler.reverse_transform(action)


class ModelEnvironment(gymnasium.Env):
    """The fitted model as an environment: its mean prediction and its noise, from logged starts."""

    def __init__(self, environment: Environment, model: hambo.Model) -> None:
        real = environment.make()
        self.observation_space, self.action_space = real.observation_space, real.action_space
        self.environment, self.model = environment, model
        self.horizon = min(environment.horizons[-1], 200)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        starts = self.model.initial_states
        self.state, self.time = starts[self.np_random.integers(len(starts))], 0
        return self.state, {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        found = self.model.predict(self.state[np.newaxis], np.asarray(action, np.float32)[np.newaxis])
        outcome = (found.mean + found.aleatoric_std * self.np_random.standard_normal(found.mean.shape))[0]
        following = outcome[: len(self.state)].astype(np.float32)
        if self.environment.reward == "pendulum":
            reward = float(PENDULUM.reward(self.state[np.newaxis], action[np.newaxis], following[np.newaxis])[0])
        else:
            reward = float(outcome[len(self.state)])
        self.state, self.time = following, self.time + 1
        return following, reward, self.environment.fell(following), self.time == self.horizon, {}


def learn_in_model(environment: Environment, folder: Path) -> torch.nn.Module:
    from train import Deterministic

    env = ModelEnvironment(environment, hambo.load(folder))
    learner = SAC("MlpPolicy", env, seed=SEED, learning_starts=1_000, policy_kwargs={"net_arch": HIDDEN})
    learner.learn(STEPS["sac_in_model"], log_interval=None)
    return Deterministic(learner.policy.actor.eval(), env.action_space)


def export(policy: torch.nn.Module, width: int, path: Path) -> None:
    """As ONNX; the file must act as the learner does."""
    import onnxruntime

    torch.onnx.export(
        policy,
        (torch.zeros(2, width),),
        str(path),
        dynamo=False,
        opset_version=17,
        input_names=["observation"],
        output_names=["action"],
        dynamic_axes={"observation": {0: "batch"}, "action": {0: "batch"}},
    )
    examples = np.random.default_rng(0).standard_normal((100, width)).astype(np.float32)
    with torch.no_grad():
        wanted = policy(torch.from_numpy(examples)).numpy()
    [found] = onnxruntime.InferenceSession(path).run(None, {"observation": examples})
    difference = np.abs(found - wanted).max()
    assert difference < 1e-4, f"{path} acts differently, by up to {difference}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", choices=ENVIRONMENTS)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=OFFLINE, default=OFFLINE)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    environment = ENVIRONMENTS[arguments.environment]
    rows = environment.unit_rows[-1]
    width = environment.make().observation_space.shape[0]
    for name in arguments.only:
        path = POLICIES / environment.name / f"{name}.onnx"
        if path.exists():
            continue
        if name == "sac_in_model":
            policy = learn_in_model(environment, arguments.models / f"{arguments.environment}-mixed-{rows}-seed{SEED}")
        else:
            policy = learn_by_d3rlpy(environment, name, rows)
        export(policy.eval(), width, path)
        print(f"{path} written", flush=True)


if __name__ == "__main__":
    main()
