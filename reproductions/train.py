"""Trains the policies of the benchmark with Stable-Baselines3's SAC and exports checkpoints as ONNX.

    python reproductions/train.py Hopper-v5 --work WORK

Stops and continues at will: WORK keeps the learner and its replay buffer. The exported actors are committed under
`policies/`, so the benchmark itself trains nothing. Needs gymnasium[mujoco], stable-baselines3, torch and onnx.
"""

import argparse
from pathlib import Path

import gymnasium
import torch
from stable_baselines3 import SAC

POLICIES = Path(__file__).parent / "policies"

# Steps at which an actor is kept, from poor to good.
CHECKPOINTS = {
    "Pendulum-v1": [1_000, 2_000, 3_000, 4_000, 6_000, 10_000, 20_000],
    "Hopper-v5": [20_000, 40_000, 60_000, 80_000, 120_000, 160_000, 200_000, 300_000, 400_000, 500_000],
    "HalfCheetah-v5": [20_000, 40_000, 60_000, 80_000, 120_000, 160_000, 200_000, 300_000, 400_000, 500_000],
}
SAVE_EVERY = 10_000
SEED = 0


class Deterministic(torch.nn.Module):
    """The actor's most likely action, in the environment's units."""

    def __init__(self, actor: torch.nn.Module, space: gymnasium.spaces.Box) -> None:
        super().__init__()
        self.actor = actor
        self.register_buffer("low", torch.as_tensor(space.low))
        self.register_buffer("high", torch.as_tensor(space.high))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        squashed = torch.tanh(self.actor.mu(self.actor.latent_pi(observation)))
        return self.low + 0.5 * (squashed + 1.0) * (self.high - self.low)


class Stochastic(torch.nn.Module):
    """Mean and logarithmic standard deviation of the action before it is squashed: the behaviour policy."""

    def __init__(self, actor: torch.nn.Module) -> None:
        super().__init__()
        self.actor = actor

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        latent = self.actor.latent_pi(observation)
        return self.actor.mu(latent), torch.clamp(self.actor.log_std(latent), -20.0, 2.0)


def export(model: SAC, folder: Path, steps: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    actor = model.policy.actor.eval()
    example = torch.zeros(1, model.observation_space.shape[0])
    graphs = [
        (Deterministic(actor, model.action_space), ["action"], f"{steps}.onnx"),
        (Stochastic(actor), ["mean", "log_std"], f"{steps}_stochastic.onnx"),
    ]
    for graph, outputs, name in graphs:
        torch.onnx.export(
            graph,
            (example,),
            str(folder / name),
            dynamo=False,
            opset_version=17,
            input_names=["observation"],
            output_names=outputs,
            dynamic_axes={axis: {0: "batch"} for axis in ["observation", *outputs]},
        )
    actor.train()


def learner(environment: str, work: Path) -> SAC:
    """A new learner, or the one that WORK keeps."""
    env = gymnasium.make(environment)
    saved = work / "learner.zip"
    if saved.exists():
        model = SAC.load(saved, env=env)
        model.load_replay_buffer(work / "replay.pkl")
        return model
    # Small networks: half the time of SB3's default of 256, and small files.
    return SAC(
        "MlpPolicy",
        env,
        seed=SEED,
        learning_starts=500 if environment == "Pendulum-v1" else 10_000,
        policy_kwargs={"net_arch": [128, 128]},
    )


def save(model: SAC, work: Path) -> None:
    """The buffer first: a learner that was saved has its buffer."""
    work.mkdir(parents=True, exist_ok=True)
    for name, write in [("replay.pkl", model.save_replay_buffer), ("learner.zip", model.save)]:
        unfinished = work / f"unfinished_{name}"
        write(unfinished)
        unfinished.replace(work / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", choices=CHECKPOINTS)
    parser.add_argument("--work", type=Path, required=True, help="keeps the learner between runs")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    work = arguments.work / arguments.environment
    model = learner(arguments.environment, work)
    checkpoints = CHECKPOINTS[arguments.environment]
    stops = sorted({*checkpoints, *range(SAVE_EVERY, checkpoints[-1] + 1, SAVE_EVERY)})
    for steps in stops:
        if steps <= model.num_timesteps:
            continue
        model.learn(steps - model.num_timesteps, reset_num_timesteps=False, log_interval=None)
        if steps in checkpoints:
            export(model, POLICIES / arguments.environment, steps)
        save(model, work)
        returns = [episode["r"] for episode in model.ep_info_buffer]
        recent = sum(returns) / max(len(returns), 1)
        print(
            f"{arguments.environment} {steps} steps, mean return of the last {len(returns)} episodes {recent:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
