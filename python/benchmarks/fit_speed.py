"""A gradient step of the ensemble's fit beside PyTorch's, in turns.

    python python/benchmarks/fit_speed.py [--batch 256 1024] [--turns 5] [--threads 2]

Both fit ten networks of 4 x 256 units to random walks of HalfCheetah's sizes: SiLU, errors weighed as by default,
bootstrap weights, random functions, the Stein direction and Adam. What both do once (reading, calibration) is left out:
hambo's time is the difference between a long fit and a short one. Each turn is a process of its own, so that no
threads of the other one wait for work. Needs torch.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
from torch.nn.functional import silu, softplus

import hambo

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--batch", type=int, nargs="*", default=[256, 1024])
parser.add_argument("--turns", type=int, default=5)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--one", choices=["hambo", "torch"], help="seconds of one of them, once")
arguments = parser.parse_args()
# Read when work begins.
os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)

MEMBERS, STATE, ACTION, WIDTH, DEPTH = 10, 17, 6, 256, 4
OUTPUTS = STATE + 1
SHORT, LONG = 20, 120


def walk() -> hambo.Dataset:
    """Random walks with the sizes of HalfCheetah."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(20, 501, STATE)).astype(np.float32)
    for step in range(1, 501):
        states[:, step] = 0.9 * states[:, step - 1] + states[:, step]
    ends = np.tile(np.arange(500) == 499, 20)
    return hambo.Dataset.from_arrays(
        states[:, :-1].reshape(-1, STATE),
        rng.normal(size=(10_000, ACTION)).astype(np.float32),
        rng.normal(size=10_000).astype(np.float32),
        states[:, 1:].reshape(-1, STATE),
        truncated=ends,
    )


def seconds_of_hambo(data: hambo.Dataset, batch: int) -> float:
    """Of one step."""

    def fit(steps: int) -> float:
        ensemble = hambo.Ensemble(batch_size=batch, max_steps=steps, evaluate_every=10_000)
        begun = time.perf_counter()
        hambo.fit(data, ensemble, seed=0, progress=False)
        return time.perf_counter() - begun

    return (fit(LONG) - fit(SHORT)) / (LONG - SHORT)


class Torch:
    """The same recipe, batched over the members."""

    def __init__(self, data: hambo.Dataset) -> None:
        """Networks for these data."""
        torch.manual_seed(0)
        inputs = torch.tensor(np.concatenate([data.states, data.actions], axis=1))
        targets = torch.tensor(np.column_stack([data.next_states - data.states, data.rewards]))
        self.inputs = (inputs - inputs.mean(0)) / inputs.std(0)
        self.targets = (targets - targets.mean(0)) / targets.std(0)
        self.weights = torch.poisson(torch.ones(MEMBERS, 20)).repeat_interleave(500, 1)
        self.learned = self.networks([STATE + ACTION, *[WIDTH] * DEPTH, 2 * OUTPUTS])
        self.random = self.networks([STATE + ACTION, 64, 64, OUTPUTS])
        for each in self.learned:
            each.requires_grad_()
        self.adam = torch.optim.Adam(self.learned, lr=4e-3, foreach=True)

    @staticmethod
    def networks(sizes: list[int]) -> list[torch.Tensor]:
        """Random weights and biases, layer by layer."""
        pairs = list(zip(sizes, sizes[1:], strict=False))
        weights = [torch.randn(MEMBERS, i, o) * i**-0.5 for i, o in pairs]
        return [each for (_, o), w in zip(pairs, weights, strict=True) for each in (w, torch.zeros(MEMBERS, 1, o))]

    @staticmethod
    def outputs(networks: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        """What all members say."""
        x = x.expand(MEMBERS, -1, -1)
        for layer in range(0, len(networks), 2):
            x = torch.baddbmm(networks[layer + 1], x, networks[layer])
            x = silu(x) if layer + 2 < len(networks) else x
        return x

    def step(self, batch: int) -> None:
        """One gradient step."""
        rows = torch.randint(0, len(self.inputs), (batch,))
        x, weights = self.inputs[rows], self.weights[:, rows]
        with torch.no_grad():
            y = self.targets[rows] - self.outputs(self.random, x)
        out = self.outputs(self.learned, x)
        mean, std = out[..., :OUTPUTS], softplus(out[..., OUTPUTS:]) + 1e-3
        terms = (-0.5 * ((y - mean) / std) ** 2 - std.log()) * std.detach()
        likelihood = (terms.sum(-1) * weights).sum() / batch
        score = self.flat(torch.autograd.grad(likelihood, self.learned))
        with torch.no_grad():
            particles = self.flat([each.detach() for each in self.learned])
            score = score - 1e-3 * particles
            gram = particles @ particles.T
            squares = gram.diag()
            kernel = torch.exp(-(squares[:, None] + squares[None, :] - 2 * gram) / 20.0)
            repulsion = (torch.diag(kernel.sum(1)) - kernel) / (10.0 * MEMBERS)
            direction = torch.addmm(repulsion @ particles, kernel / MEMBERS, score)
            first = 0
            for each in self.learned:
                size = each[0].numel()
                each.grad = -direction[:, first : first + size].reshape(each.shape)
                first += size
        self.adam.step()

    @staticmethod
    def flat(tensors: "list[torch.Tensor] | tuple[torch.Tensor, ...]") -> torch.Tensor:
        """One row per member."""
        return torch.cat([each.reshape(MEMBERS, -1) for each in tensors], 1)

    def seconds(self, batch: int) -> float:
        """Of one step."""
        for _ in range(SHORT):
            self.step(batch)
        begun = time.perf_counter()
        for _ in range(LONG - SHORT):
            self.step(batch)
        return (time.perf_counter() - begun) / (LONG - SHORT)


def turn(which: str, batch: int) -> float:
    """Seconds of one step, by a process of its own."""
    words = [sys.executable, __file__, "--one", which, "--batch", str(batch), "--threads", str(arguments.threads)]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Both of them, in turns."""
    if arguments.one:
        torch.set_num_threads(arguments.threads)
        # Without this, weights that decay to subnormal numbers make it slower with every step.
        torch.set_flush_denormal(True)
        data, batch = walk(), arguments.batch[0]
        print(seconds_of_hambo(data, batch) if arguments.one == "hambo" else Torch(data).seconds(batch))
        return
    print(f"{arguments.threads} threads, PyTorch {torch.__version__}, {arguments.turns} turns")
    for batch in arguments.batch:
        pairs = [(turn("hambo", batch), turn("torch", batch)) for _ in range(arguments.turns)]
        ours, other = (statistics.median(each) * 1e3 for each in zip(*pairs, strict=True))
        ratios = sorted(b / a for a, b in pairs)
        print(
            f"batch {batch}: hambo {ours:.1f} ms, PyTorch {other:.1f} ms a step; "
            f"{statistics.median(ratios):.2f} times as fast ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


if __name__ == "__main__":
    main()
