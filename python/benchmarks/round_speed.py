"""A round of CA's adversary beside PyTorch's, in turns.

    python python/benchmarks/round_speed.py [--turns 5] [--threads 2]

Pendulum, 1,000 episodes of 200 steps in a model of five networks of 4 x 256 units with ReLU, then 300 steps of SAC on
1,024 rows with networks of 2 x 256 units. hambo's side is its benchmark `adversary`, run by cargo. Each turn is a
process of its own. Needs torch, and a checkout with Rust.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch.nn.functional import mse_loss, softplus

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--turns", type=int, default=5)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--benchmark", help="hambo's benchmark as a program, instead of by cargo")
parser.add_argument("--one", action="store_true", help="seconds of PyTorch, once")
arguments = parser.parse_args()

STATE, ACTION, MEMBERS, EPISODES, HORIZON, STEPS, ROWS = 3, 1, 5, 1_000, 200, 300, 1_024
LOW, HIGH = torch.tensor([-1.0, -1.0, -8.0]), torch.tensor([1.0, 1.0, 8.0])
SCALE = torch.tensor([1.0, 1.0, 8.0, 2.0])
ROUNDS = 2


def networks(sizes: list[int], members: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Random weights and biases, layer by layer, for so many networks."""
    pairs = zip(sizes, sizes[1:], strict=False)
    return [(torch.randn(members, i, o) * i**-0.5, torch.zeros(members, 1, o)) for i, o in pairs]


def outputs(layers: list[tuple[torch.Tensor, torch.Tensor]], x: torch.Tensor) -> torch.Tensor:
    """What all of them say."""
    x = x.expand(len(layers[0][0]), -1, -1)
    for index, (weight, bias) in enumerate(layers):
        x = torch.baddbmm(bias, x, weight)
        x = x.relu_() if index + 1 < len(layers) else x
    return x


def starts() -> torch.Tensor:
    """Where episodes begin."""
    angle, speed = (torch.rand(EPISODES) * 2 - 1) * math.pi, torch.rand(EPISODES) * 2 - 1
    return torch.stack([angle.cos(), angle.sin(), speed], -1)


def policy(states: torch.Tensor) -> torch.Tensor:
    """Pumps energy, and holds the top."""
    angle, speed = torch.atan2(states[:, 1], states[:, 0]), states[:, 2]
    energy = 0.5 * speed**2 + 15 * (angle.cos() - 1)
    pumps, holds = -2 * speed.sign() * energy.sign(), -(12 * angle + 3 * speed)
    is_near = (angle.abs() < 0.6) & (speed.abs() < 3)
    return torch.where(is_near, holds, pumps).clamp(-2, 2).unsqueeze(-1)


def rewards(states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """Of Pendulum."""
    angle = torch.atan2(states[:, 1], states[:, 0])
    return -(angle**2 + 0.1 * states[:, 2] ** 2 + 0.001 * actions[:, 0] ** 2)


def perceptron(inputs: int, outputs: int) -> torch.nn.Sequential:
    """A network of actor and critics."""
    widths = [inputs, 256, 256, outputs]
    layers: list[torch.nn.Module] = []
    for i, o in zip(widths, widths[1:], strict=False):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


class Round:
    """SAC against a model, as a careful practitioner writes it."""

    def __init__(self) -> None:
        """Untrained networks; what they say does not matter here."""
        torch.manual_seed(0)
        self.model = networks([STATE + ACTION, 256, 256, 256, 256, 2 * STATE], MEMBERS)
        self.actor = perceptron(STATE + ACTION, 2 * STATE)
        self.critics = [perceptron(2 * STATE + ACTION, 1) for _ in range(2)]
        self.targets = [perceptron(2 * STATE + ACTION, 1) for _ in range(2)]
        self.of_critics = [each for critic in self.critics for each in critic.parameters()]
        self.of_targets = [each for target in self.targets for each in target.parameters()]
        self.log_entropy = torch.zeros(1, requires_grad=True)
        self.adams = [
            torch.optim.Adam(self.of_critics, lr=1e-3, foreach=True),
            torch.optim.Adam(self.actor.parameters(), lr=1e-3, foreach=True),
            torch.optim.Adam([self.log_entropy], lr=5e-5),
        ]
        self.remembered = torch.empty(0)

    def act(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A shift and its log density."""
        raw = self.actor(inputs / SCALE)
        mean, log_std = raw[:, :STATE], raw[:, STATE:].clamp(-5, 2)
        noise = torch.randn_like(mean)
        before = mean + log_std.exp() * noise
        squashing = 2 * (math.log(2) - before - softplus(-2 * before))
        density = -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi) - squashing
        return before.tanh(), density.sum(-1)

    def explore(self) -> None:
        """Episodes of the exploring adversary."""
        states, rows = starts(), []
        actions = policy(states)
        for _ in range(HORIZON):
            inputs = torch.cat([states, actions], -1)
            shift = self.act(inputs)[0]
            said = outputs(self.model, inputs / SCALE)
            means, stds = said[..., :STATE], softplus(said[..., STATE:]) + 1e-3
            spread = means.std(0, unbiased=False)
            noise = (stds**2).mean(0).sqrt() * torch.randn_like(states)
            following = (states + means.mean(0) + shift * spread + noise).clamp(LOW, HIGH)
            harm = -rewards(states, actions).unsqueeze(-1)
            next_actions = policy(following)
            rows.append(torch.cat([inputs, shift, harm, following, next_actions], -1))
            states, actions = following, next_actions
        self.remembered = torch.cat([self.remembered, *rows]) if len(self.remembered) else torch.cat(rows)

    @staticmethod
    def smaller(critics: list[torch.nn.Sequential], inputs: torch.Tensor) -> torch.Tensor:
        """What the smaller of two critics says."""
        return torch.min(critics[0](inputs), critics[1](inputs)).squeeze(-1)

    def step(self) -> None:
        """One step of critics, actor, entropy and targets."""
        batch = self.remembered[torch.randint(0, len(self.remembered), (ROWS,))]
        inputs, shift, harm, following = batch.split([STATE + ACTION, STATE, 1, STATE + ACTION], 1)
        coefficient = self.log_entropy.exp().detach()
        with torch.no_grad():
            next_shift, density = self.act(following)
            value = self.smaller(self.targets, torch.cat([following / SCALE, next_shift], -1))
            wanted = 0.1 * harm.squeeze(-1) + 0.99 * (value - coefficient * density)
        judged = torch.cat([inputs / SCALE, shift], -1)
        loss = sum(mse_loss(critic(judged).squeeze(-1), wanted) for critic in self.critics)
        self.descend(self.adams[0], loss)
        # The critics only judge here: their own gradients are not wanted.
        for each in self.of_critics:
            each.requires_grad_(False)
        choice, density = self.act(inputs)
        value = self.smaller(self.critics, torch.cat([inputs / SCALE, choice], -1))
        self.descend(self.adams[1], (coefficient * density - value).mean())
        for each in self.of_critics:
            each.requires_grad_(True)
        self.descend(self.adams[2], -(self.log_entropy * (density.detach() - STATE)).mean())
        with torch.no_grad():
            torch._foreach_lerp_(self.of_targets, self.of_critics, 0.005)

    def learn(self) -> None:
        """All steps of a round."""
        for _ in range(STEPS):
            self.step()

    @staticmethod
    def descend(adam: torch.optim.Adam, loss: torch.Tensor) -> None:
        """One step down."""
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()

    def seconds(self) -> tuple[float, float]:
        """Of the last round's episodes and gradient steps."""
        for _ in range(ROUNDS):
            with torch.no_grad():
                exploring = clocked(self.explore)
            learning = clocked(self.learn)
        return exploring, learning


def clocked(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def turn_of_hambo() -> tuple[float, float]:
    """By the benchmark in Rust."""
    environment = {**os.environ, "RAYON_NUM_THREADS": str(arguments.threads)}
    by_cargo = ["cargo", "bench", "--quiet", "-p", "hambo", "--bench", "adversary"]
    words = [arguments.benchmark, "--bench"] if arguments.benchmark else by_cargo
    printed = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
    found = re.search(r"exploring ([\d.]+) s, gradient steps ([\d.]+) s", printed)
    assert found, printed
    return float(found[1]), float(found[2])


def turn_of_torch() -> tuple[float, float]:
    """By a process of its own."""
    words = [sys.executable, __file__, "--one", "--threads", str(arguments.threads)]
    exploring, learning = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return exploring, learning


def main() -> None:
    """Both of them, in turns."""
    if arguments.one:
        torch.set_num_threads(arguments.threads)
        torch.set_flush_denormal(True)
        print(json.dumps(Round().seconds()))
        return
    print(f"{arguments.threads} threads, PyTorch {torch.__version__}, {arguments.turns} turns")
    pairs = [(turn_of_hambo(), turn_of_torch()) for _ in range(arguments.turns)]
    for index, part in enumerate(["rollouts", "gradient steps"]):
        ours, other = (statistics.median(each[who][index] for each in pairs) for who in range(2))
        ratios = sorted(a[index] / b[index] for a, b in pairs)
        print(
            f"{part}: hambo {ours:.2f} s, PyTorch {other:.2f} s; "
            f"{statistics.median(ratios):.2f} of its time ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


if __name__ == "__main__":
    main()
