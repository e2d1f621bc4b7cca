"""How far exported policies are from the originals, on logged states.

    python exports.py

Ten algorithms of Stable-Baselines3 and ten of d3rlpy, briefly trained, each with what is easily lost: squashed and
rescaled actions, normalised observations, choices. One line each: the largest difference of any action on 10^4 states
that random actions led to. Needs stable-baselines3, d3rlpy and onnx.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import d3rlpy
import gymnasium
import numpy as np
import stable_baselines3
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import hambo

STATES = 10_000
CONTINUOUS = ["PPO", "A2C", "SAC", "TD3", "DDPG"]
CHOICES = ["PPO", "A2C", "DQN"]
ALGOS = ["TD3PlusBC", "CQL", "IQL", "AWAC", "BC", "SAC", "TD3"]
ALGOS_OF_CHOICES = ["DiscreteCQL", "DQN", "DiscreteBC"]


class Scaled(gymnasium.ActionWrapper):  # type: ignore[misc, type-arg, unused-ignore]
    """The pendulum with other units of torque, so that a rescaling that is lost shows."""

    def __init__(self) -> None:
        """Torques from -3 to 7."""
        super().__init__(gymnasium.make("Pendulum-v1"))
        self.action_space = gymnasium.spaces.Box(-3.0, 7.0, (1,), np.float32)

    def action(self, action: Any) -> Any:
        """Torques between -2 and 2."""
        return (action - 2.0) / 2.5


def of_stable_baselines(data: hambo.Dataset, choices: hambo.Dataset, path: Path) -> dict[str, float]:
    """One difference per model."""
    found = {}
    for name in CONTINUOUS:
        agent = getattr(stable_baselines3, name)("MlpPolicy", Scaled(), seed=0, device="cpu").learn(300)
        found[f"SB3 {name}"] = hambo.export_policy(agent, path, data)
    for name in CHOICES:
        agent = getattr(stable_baselines3, name)("MlpPolicy", "CartPole-v1", seed=0, device="cpu").learn(300)
        found[f"SB3 {name}, choices"] = hambo.export_policy(agent, path, choices)
    for name in ("PPO", "SAC"):
        env = VecNormalize(DummyVecEnv([Scaled]))
        agent = getattr(stable_baselines3, name)("MlpPolicy", env, seed=0, device="cpu").learn(300)
        env.training = False
        found[f"SB3 {name}, normalised"] = hambo.export_policy(agent, path, data, normalize=env)
    return found


def of_d3rlpy(data: hambo.Dataset, choices: hambo.Dataset, path: Path) -> dict[str, float]:
    """One difference per algo."""
    found = {}
    for name in ALGOS + ALGOS_OF_CHOICES:
        of_choices = name in ALGOS_OF_CHOICES
        logs = choices if of_choices else data
        kinds = d3rlpy.constants.ActionSpace
        buffer = d3rlpy.dataset.MDPDataset(
            logs.states,
            logs.actions.argmax(axis=1)[:, np.newaxis] if of_choices else logs.actions,
            logs.rewards,
            (np.arange(len(logs)) % 200 == 199).astype(np.float32),
            action_space=kinds.DISCRETE if of_choices else kinds.CONTINUOUS,
        )
        scalers = {"observation_scaler": d3rlpy.preprocessing.StandardObservationScaler()}
        if not of_choices:
            scalers["action_scaler"] = d3rlpy.preprocessing.MinMaxActionScaler()
        algo = getattr(d3rlpy.algos, f"{name}Config")(**scalers).create()
        silent = d3rlpy.logging.NoopAdapterFactory()
        algo.fit(buffer, n_steps=50, n_steps_per_epoch=50, show_progress=False, logger_adapter=silent)
        found[f"d3rlpy {name}"] = hambo.export_policy(algo, path, logs)
    return found


def main() -> None:
    """Prints one line per policy."""
    data = hambo.Dataset.from_gymnasium(Scaled(), None, STATES, seed=1)
    choices = hambo.Dataset.from_gymnasium("CartPole-v1", None, STATES, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.onnx"
        found = of_stable_baselines(data, choices, path) | of_d3rlpy(data, choices, path)
    for name, difference in found.items():
        print(f"{name}: {difference:.2g}")
    print(f"{len(found)} policies, the largest difference is {max(found.values()):.2g}")


if __name__ == "__main__":
    main()
