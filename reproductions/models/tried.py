"""What was tried to make better worlds: hambo's recipe in PyTorch, with one thing changed.

    python reproductions/models/tried.py [--only hopper] [--processes 2]

Three networks, 6,000 steps, n = 10^5, tuning seed 50; one row per run in `results/tried.csv`, from which a stopped
run goes on. What helps is then done in Rust, and measured by `run`.
"""

import argparse
import json
import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

sys.path.extend([str(Path(__file__).parent), str(Path(__file__).parent.parent)])

import numpy as np
import torch
from data import transitions
from environments import ENVIRONMENTS, Actor
from returns import recorded
from tidy import Row, read_rows, write_rows
from torch import nn
from yardstick import Array, Logs, Scales, estimates, logs_of, one_step, over_steps

HERE = Path(__file__).parent
SEED = 50
ROWS = 100_000
ACTIVATIONS = {"relu": torch.relu, "silu": nn.functional.silu, "gelu": nn.functional.gelu}
BASE = {
    "activation": "silu",
    "least_squares": 0.5,
    "head": "learned",
    "random": 0.3,
    "random_activation": "silu",
    "rate": 4e-3,
    "schedule": "cosine",
    "steps": 6_000,
    "width": 256,
    "depth": 4,
    "batch": 256,
    "prior": 1e-4,
    "initial": 1.0,
    "layer_norm": False,
    "residual": False,
    "bootstrap": True,
    "unroll": 1,
    "rare": 0.0,
    "least_std": 1e-3,
}
CHANGES: list[dict[str, object]] = [
    {},
    {"activation": "relu", "random_activation": "relu"},
    {"activation": "gelu", "random_activation": "gelu"},
    {"least_squares": 0.0},
    {"least_squares": 0.25},
    {"least_squares": 1.0},
    {"head": "least squares"},
    {"random_activation": "relu"},
    {"random": 0.0},
    {"rate": 1e-3},
    {"rate": 2e-3},
    {"rate": 8e-3},
    {"steps": 15_000},
    {"schedule": "plateau", "steps": 40_000},
    {"width": 400},
    {"depth": 2},
    {"batch": 1024},
    {"prior": 0.0},
    {"prior": 1e-3},
    {"initial": 2**0.5},
    {"layer_norm": True},
    {"residual": True},
    {"bootstrap": False},
    {"unroll": 4},
    {"rare": 0.5},
]
COLUMNS = [
    *("environment", "change", "processor_seconds", "steps", "one_step", "likelihood", "mixture_likelihood"),
    *(f"{name}_{steps}" for steps in (10, 50, 100) for name in ("error", "covered")),
    *("noiseless", "noisy"),
]


class Networks(nn.Module):
    """Perceptrons `[members, rows, inputs]`, or one of them."""

    def __init__(self, members: int, sizes: list[int], options: dict, activation: str) -> None:
        super().__init__()
        pairs = list(zip(sizes, sizes[1:], strict=False))
        gain = options["initial"]
        weights = [torch.randn(members, inputs, outputs) * gain / math.sqrt(inputs) for inputs, outputs in pairs]
        self.weights = nn.ParameterList(nn.Parameter(weight) for weight in weights)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(members, 1, outputs)) for _, outputs in pairs)
        self.gains = nn.ParameterList(nn.Parameter(torch.ones(members, 1, width)) for width in sizes[1:-1])
        self.activation, self.options = ACTIVATIONS[activation], options

    def forward(self, rows: torch.Tensor, member: int | None = None) -> torch.Tensor:
        at = slice(None) if member is None else slice(member, member + 1)
        last = len(self.weights) - 1
        for index in range(last + 1):
            sums = torch.baddbmm(self.biases[index][at], rows, self.weights[index][at])
            if index < last:
                if self.options["layer_norm"]:
                    sums = nn.functional.layer_norm(sums, sums.shape[-1:]) * self.gains[index][at]
                active = self.activation(sums)
                sums = active + rows if self.options["residual"] and active.shape == rows.shape else active
            rows = sums
        return rows


class Tried:
    """Fitted on logs as it is made."""

    def __init__(self, logs: Logs, options: dict, members: int = 3) -> None:
        torch.manual_seed(SEED)
        self.rng = np.random.default_rng(SEED)
        self.members, self.options = members, options
        inputs = np.column_stack([logs.states, logs.actions])
        targets = logs.outcomes.copy()
        targets[:, :-1] -= logs.states
        self._in = (inputs.mean(axis=0), inputs.std(axis=0) + 1e-12)
        self._out = (targets.mean(axis=0), targets.std(axis=0) + 1e-12)
        x = torch.from_numpy(((inputs - self._in[0]) / self._in[1]).astype(np.float32))
        y = torch.from_numpy(((targets - self._out[0]) / self._out[1]).astype(np.float32))
        self.outputs = y.shape[1]
        hidden = [options["width"]] * options["depth"]
        self.networks = Networks(members, [x.shape[1], *hidden, 2 * self.outputs], options, options["activation"])
        self.random = None
        if options["random"]:
            plain = {**options, "layer_norm": False, "residual": False, "initial": 1.0}
            self.random = Networks(members, [x.shape[1], 32, 32, self.outputs], plain, options["random_activation"])
            self.random.requires_grad_(requires_grad=False)
            size = self.random(x[:4096].expand(members, -1, -1)).std()
            self.random.weights[-1].mul_(options["random"] / size)
        _, episode = np.unique(logs.episode, return_inverse=True)
        counts = self.rng.poisson(1, (members, episode.max() + 1)) if options["bootstrap"] else None
        shape = (members, episode.max() + 1)
        drawn = np.ones(shape) if counts is None else counts
        self.weights = torch.from_numpy(drawn.astype(np.float32))[:, torch.from_numpy(episode)]
        # Rows whose next ones belong to the same episode.
        following = np.nonzero(episode[: -options["unroll"] + 1 or None] == episode[options["unroll"] - 1 :])[0]
        self.steps = self._fit(x, y, following)

    def heads(self, rows: torch.Tensor, member: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        raw = self.networks(rows, member)
        mean = raw[..., : self.outputs]
        std = nn.functional.softplus(raw[..., self.outputs :]) + self.options["least_std"]
        return (mean if self.random is None else mean + self.random(rows, member)), std

    def _loss(self, x: torch.Tensor, y: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        options = self.options
        now = x[rows].expand(self.members, -1, -1)
        width = self.outputs - 1
        scales = [torch.from_numpy(np.asarray(part, dtype=np.float32)) for part in (*self._in, *self._out)]
        total = 0.0
        for step in range(options["unroll"]):
            mean, std = self.heads(now)
            error = y[rows + step] - mean
            if options["head"] == "least squares":
                terms = 0.5 * error**2 + 0.5 * (error.detach() / std) ** 2 + std.log()
            else:
                terms = 0.5 * (error / std) ** 2 + std.log()
                terms = terms * std.detach() ** (2 * options["least_squares"])
            total = total + terms.sum(dim=-1)
            if step + 1 < options["unroll"]:
                state = now[..., :width] * scales[1][:width] + scales[0][:width]
                state = state + mean[..., :width] * scales[3][:width] + scales[2][:width]
                state = (state - scales[0][:width]) / scales[1][:width]
                actions = x[rows + step + 1][:, width:].expand(self.members, -1, -1)
                now = torch.cat([state, actions], dim=-1)
        return total / options["unroll"]

    def _fit(self, x: torch.Tensor, y: torch.Tensor, following: Array) -> int:
        options, members = self.options, self.members
        params = list(self.networks.parameters())
        moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in params]
        look = torch.from_numpy(self.rng.permutation(len(x))[:5_000])
        best, kept = torch.full((members,), -math.inf), {k: v.clone() for k, v in self.networks.state_dict().items()}
        since, falls = torch.zeros(members), torch.zeros(members)
        # Changes that happen seldom: far from their mean.
        chances = None
        if options["rare"]:
            size = y.square().mean(dim=1).numpy()[following].astype(np.float64) ** options["rare"]
            chances = np.cumsum(size / size.sum())
        step = 0
        for step in range(1, options["steps"] + 1):
            if chances is None:
                chosen = self.rng.integers(0, len(following), options["batch"])
            else:
                chosen = np.minimum(np.searchsorted(chances, self.rng.random(options["batch"])), len(following) - 1)
            rows = torch.from_numpy(following[chosen])
            loss = (self._loss(x, y, rows) * self.weights[:, rows]).mean(dim=1).sum()
            loss = loss + options["prior"] / 2 * sum(p.square().sum() for p in params)
            rates = torch.full((members, 1, 1), options["rate"])
            if options["schedule"] == "cosine":
                rates *= 0.5 * (1 + math.cos(math.pi * (step - 1) / options["steps"]))
            else:
                rates *= (0.3**falls * (falls <= 3))[:, None, None]
            for p in params:
                p.grad = None
            loss.backward()
            with torch.no_grad():
                for p, (first, second) in zip(params, moments, strict=True):
                    if p.grad is None:
                        continue
                    first.lerp_(p.grad, 0.1)
                    second.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                    slope = (second / (1 - 0.999**step)).sqrt() + 1e-8
                    p.sub_(rates / (1 - 0.9**step) * first / slope)
                if step % 200 == 0 or step == options["steps"]:
                    mean, std = self.heads(x[look].expand(members, -1, -1))
                    found = -(0.5 * ((y[look] - mean) / std) ** 2 + std.log()).sum(dim=-1)
                    unseen = (self.weights[:, look] == 0).float()
                    values = (found * unseen).sum(dim=1) / unseen.sum(dim=1).clamp(min=1)
                    better = (values > best) | (unseen.sum(dim=1) == 0)
                    best = torch.where(better, values, best)
                    since = torch.where(better, 0, since + 1)
                    for name, value in self.networks.state_dict().items():
                        kept[name][better] = value[better]
                    fallen = (since >= 5) & (falls <= 3)
                    if options["schedule"] == "plateau" and fallen.any():
                        falls, since = falls + fallen, torch.where(fallen, 0, since)
                        for name, value in self.networks.state_dict().items():
                            value[fallen] = kept[name][fallen]
                        if (falls > 3).all():
                            break
        self.networks.load_state_dict(kept)
        return step

    def predict(self, member: int, states: Array, actions: Array) -> tuple[Array, Array]:
        inputs = (np.column_stack([states, actions]) - self._in[0]) / self._in[1]
        with torch.no_grad():
            mean, std = self.heads(torch.from_numpy(inputs.astype(np.float32))[None], member)
        mean = mean[0].numpy() * self._out[1] + self._out[0]
        mean[:, :-1] += states
        return mean.astype(np.float32), (std[0].numpy() * self._out[1]).astype(np.float32)


def tried(name: str, change: dict[str, object]) -> Row:
    """One row of the table."""
    torch.set_num_threads(1)
    environment = ENVIRONMENTS[name]
    logs = logs_of(transitions(environment, "mixed", ROWS, SEED))
    held_out = logs_of(transitions(environment, "mixed", 20_000, 1_000 + SEED))
    begun = time.process_time()
    worlds = Tried(logs, {**BASE, **change})
    found: Row = {"environment": name, "change": json.dumps(change), "steps": worlds.steps}
    found["processor_seconds"] = round(time.process_time() - begun, 1)
    scales = Scales.of(logs)
    found |= one_step(worlds, held_out, scales, logs.states.shape[1] + (environment.reward is None))
    found |= over_steps(worlds, held_out, environment, scales, [10, 50, 100], 150, SEED)
    starts, truths = environment.initial_states(60, seed=7), recorded()
    for noise, column in ((0.0, "noiseless"), (1.0, "noisy")):
        said = {}
        for policy in environment.policies():
            returns = estimates(worlds, environment, Actor(environment, policy), starts, scales, noise, SEED)
            truth, _ = truths[environment.name, policy, environment.unit_horizon]
            said[str(policy)] = [truth, float(returns.mean()), float(returns.std(ddof=1))]
        found[column] = json.dumps(said)
    return {column: found[column] for column in COLUMNS}


def place(row: Row) -> tuple[int, int]:
    changes = [json.dumps(change) for change in CHANGES]
    return list(ENVIRONMENTS).index(row["environment"]), changes.index(row["change"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=ENVIRONMENTS, default=["hopper", "halfcheetah"])
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    table = HERE / "results" / "tried.csv"
    table.parent.mkdir(exist_ok=True)
    done = {place(row) for row in read_rows(table)}
    jobs = [(name, change) for change in CHANGES for name in arguments.only]
    missing = [job for job in jobs if place({"environment": job[0], "change": json.dumps(job[1])}) not in done]
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        running = {pool.submit(tried, *job): job for job in missing}
        for job in as_completed(running):
            write_rows(table, [*read_rows(table), job.result()], COLUMNS, place)
            print(*running[job], flush=True)


if __name__ == "__main__":
    main()
