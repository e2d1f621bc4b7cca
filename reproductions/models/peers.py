"""What the field trusts, in PyTorch: a probabilistic ensemble as in PETS and MBPO.

Seven networks of 4 x 200, SiLU, a Gaussian over the change of the state and the reward, learned limits of the
log-variance, weight decay that grows with depth, each network's own bootstrap of the rows, and an end when the
held-out loss of none has improved for five epochs. Numbers as in MBPO's code.
"""

import copy
import math
import time

import numpy as np
import torch
from torch import nn
from yardstick import Array, Logs

DECAYS = [0.000025, 0.00005, 0.000075, 0.000075, 0.0001]
HELD_OUT = 0.2
MOST_HELD_OUT = 5_000
PATIENCE = 5
LEAST_GAIN = 0.01
BATCH = 256


class Layers(nn.Module):
    """One network per member, on inputs `[members, rows, inputs]`."""

    def __init__(self, members: int, sizes: list[int], limits: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for inputs, outputs in zip(sizes, sizes[1:], strict=False):
            weight = torch.empty(members, inputs, outputs)
            nn.init.trunc_normal_(weight, std=1 / (2 * math.sqrt(inputs)))
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(torch.zeros(members, 1, outputs)))
        self.highest = nn.Parameter(0.5 * torch.ones(limits))
        self.lowest = nn.Parameter(-10.0 * torch.ones(limits))

    def forward(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        now = inputs
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            now = torch.baddbmm(bias, now, weight)
            if index + 1 < len(self.weights):
                now = nn.functional.silu(now)
        mean, log_variance = now.chunk(2, dim=-1)
        log_variance = self.highest - nn.functional.softplus(self.highest - log_variance)
        return mean, self.lowest + nn.functional.softplus(log_variance - self.lowest)


class Pets:
    """Fitted on logs as it is made, for at most so many seconds of the processor's time."""

    def __init__(self, logs: Logs, seed: int, most_seconds: float, members: int = 7) -> None:
        torch.manual_seed(seed)
        self.members = members
        inputs = np.column_stack([logs.states, logs.actions])
        targets = logs.outcomes.copy()
        targets[:, :-1] -= logs.states
        self._in = (inputs.mean(axis=0), np.maximum(inputs.std(axis=0), 1e-12))
        # MBPO standardises inputs alone; as hambo standardises both, the peer gets the better of the two.
        self._out = (targets.mean(axis=0), np.maximum(targets.std(axis=0), 1e-12))
        x = torch.from_numpy(((inputs - self._in[0]) / self._in[1]).astype(np.float32))
        y = torch.from_numpy(((targets - self._out[0]) / self._out[1]).astype(np.float32))
        self._layers = Layers(members, [x.shape[1], 200, 200, 200, 200, 2 * y.shape[1]], y.shape[1])
        self.steps = self._fit(x, y, most_seconds)

    def _fit(self, x: torch.Tensor, y: torch.Tensor, most_seconds: float) -> int:
        layers = self._layers
        order = torch.randperm(len(x))
        held = min(int(HELD_OUT * len(x)), MOST_HELD_OUT)
        held_x, held_y = x[order[:held]], y[order[:held]]
        x, y = x[order[held:]], y[order[held:]]
        optimizer = torch.optim.Adam(layers.parameters(), lr=1e-3)
        bag = torch.randint(len(x), (self.members, len(x)))
        best = torch.full((self.members,), math.inf)
        kept = copy.deepcopy(layers.state_dict())
        since, steps, begun = 0, 0, time.process_time()
        while since < PATIENCE and time.process_time() - begun < most_seconds:
            shuffled = torch.stack([row[torch.randperm(len(x))] for row in bag])
            for first in range(0, len(x), BATCH):
                rows = shuffled[:, first : first + BATCH]
                mean, log_variance = layers(x[rows])
                loss = ((mean - y[rows]).square() * (-log_variance).exp() + log_variance).mean(dim=(1, 2)).sum()
                loss = loss + 0.01 * layers.highest.sum() - 0.01 * layers.lowest.sum()
                for decay, weight in zip(DECAYS, layers.weights, strict=True):
                    loss = loss + decay * weight.square().sum() / 2
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                steps += 1
            with torch.no_grad():
                mean, _ = layers(held_x.expand(self.members, *held_x.shape))
                now = (mean - held_y).square().mean(dim=(1, 2))
            better = (best - now) / best.clamp(max=1e30) > LEAST_GAIN
            better |= best.isinf()
            best = torch.where(better, now, best)
            for name, value in layers.state_dict().items():
                if name in ("highest", "lowest"):
                    kept[name] = value.clone()
                else:
                    kept[name][better] = value[better]
            since = 0 if better.any() else since + 1
        layers.load_state_dict(kept)
        return steps

    def predict(self, member: int, states: Array, actions: Array) -> tuple[Array, Array]:
        inputs = (np.column_stack([states, actions]) - self._in[0]) / self._in[1]
        with torch.no_grad():
            now = torch.from_numpy(inputs.astype(np.float32))
            layers = self._layers
            last = len(layers.weights) - 1
            for index, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
                now = torch.addmm(bias[member], now, weight[member])
                if index < last:
                    now = nn.functional.silu(now)
            mean, log_variance = now.chunk(2, dim=-1)
            log_variance = layers.highest - nn.functional.softplus(layers.highest - log_variance)
            log_variance = layers.lowest + nn.functional.softplus(log_variance - layers.lowest)
            mean, std = mean.numpy(), (0.5 * log_variance).exp().numpy()
        mean = mean * self._out[1] + self._out[0]
        mean[:, :-1] += states
        return mean.astype(np.float32), (std * self._out[1]).astype(np.float32)
