"""A default evaluation from a saved model beside PyTorch's, in turns.

    python python/benchmarks/evaluation_speed.py [--turns 5] [--threads 2]

Sizes of Hopper: ten worlds of 4 x 256 units, 1,000 episodes of 200 steps in each, a policy of 2 x 256 units. hambo does
all that it does by default: it loads the model, plays the logs again, plays the policy, asks all worlds how certain
they are, and asks the logs for a second opinion. PyTorch is timed twice: for the policy's episodes alone, and with the
networks' part of the rest (how many rows which network sees). Each turn is a process of its own. Needs torch and onnx.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from torch.nn.functional import silu, softplus

import hambo

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--turns", type=int, default=5)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--one", choices=["hambo", "torch"], help="seconds of one of them, once")
parser.add_argument("--folder", type=Path, help="where model and policy are, for `--one`")
arguments = parser.parse_args()
# Read when work begins.
os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)

MEMBERS, STATE, ACTION, EPISODES, HORIZON, LOGGED = 10, 11, 3, 1_000, 200, 50
OUTPUTS = STATE + 1
ASKED = 100
"""Episodes of each world in which all worlds are asked."""
POLICY = [STATE, 256, 256, ACTION]

Layers = list[tuple[torch.Tensor, torch.Tensor]]


def walks() -> hambo.Dataset:
    """Logs of Hopper's sizes."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(LOGGED, HORIZON + 1, STATE)).astype(np.float32)
    actions = rng.uniform(-1, 1, size=(LOGGED, HORIZON, ACTION)).astype(np.float32)
    for step in range(1, HORIZON + 1):
        states[:, step] = 0.95 * states[:, step - 1] + 0.1 * states[:, step]
        states[:, step, :ACTION] += 0.05 * actions[:, step - 1]
    ends = np.tile(np.arange(HORIZON) == HORIZON - 1, LOGGED)
    return hambo.Dataset.from_arrays(
        states[:, :-1].reshape(-1, STATE),
        actions.reshape(-1, ACTION),
        states[:, 1:, 0].reshape(-1),
        states[:, 1:].reshape(-1, STATE),
        truncated=ends,
    )


def write_policy(path: Path) -> None:
    """A random network."""
    rng = np.random.default_rng(1)
    nodes, constants, last = [], [], "state"
    for index, (i, o) in enumerate(zip(POLICY, POLICY[1:], strict=False)):
        weight = rng.normal(size=(i, o)).astype(np.float32) * i**-0.5
        constants += [
            onnx.numpy_helper.from_array(weight, f"w{index}"),
            onnx.numpy_helper.from_array(np.zeros(o, np.float32), f"b{index}"),
        ]
        is_last = index + 2 == len(POLICY)
        out = "action" if is_last else f"h{index}"
        nodes += [
            onnx.helper.make_node("Gemm", [last, f"w{index}", f"b{index}"], [f"s{index}"]),
            onnx.helper.make_node("Tanh" if is_last else "Relu", [f"s{index}"], [out]),
        ]
        last = out
    state, action = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", width])
        for name, width in (("state", STATE), ("action", ACTION))
    )
    graph = onnx.helper.make_graph(nodes, "policy", [state], [action], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


def seconds_of_hambo(folder: Path) -> list[float]:
    """Of everything."""
    begun = time.perf_counter()
    model = hambo.Model.load(folder / "model")
    policy = folder / "policy.onnx"
    hambo.evaluate(model, policy, horizon=HORIZON, episodes=EPISODES, seed=0, progress=False)
    return [time.perf_counter() - begun]


def networks(sizes: list[int], count: int) -> Layers:
    """Random weights and biases, layer by layer, for so many networks."""
    pairs = zip(sizes, sizes[1:], strict=False)
    return [(torch.randn(count, i, o) * i**-0.5, torch.zeros(count, 1, o)) for i, o in pairs]


def outputs(layers: Layers, x: torch.Tensor, smooth: bool = True) -> torch.Tensor:
    """What each network says about its own rows."""
    for index, (weight, bias) in enumerate(layers):
        x = torch.baddbmm(bias, x, weight)
        if index + 1 < len(layers):
            x = silu(x, inplace=True) if smooth else x.relu_()
    return x


class Torch:
    """All worlds as one batch of products."""

    def __init__(self) -> None:
        """Untrained networks; what they say does not matter here."""
        torch.manual_seed(0)
        self.worlds = networks([STATE + ACTION, 256, 256, 256, 256, 2 * OUTPUTS], MEMBERS)
        self.random = networks([STATE + ACTION, 32, 32, OUTPUTS], MEMBERS)
        self.policy = networks(POLICY, 1)
        self.behaviour = networks([STATE, 128, 128, ACTION], 1)
        self.errors = torch.randn(LOGGED * HORIZON, OUTPUTS) * 0.01

    def predict(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Means and stds `[worlds, rows, outputs]` for inputs of every world."""
        said = outputs(self.worlds, inputs)
        return said[..., :OUTPUTS] + outputs(self.random, inputs), softplus(said[..., OUTPUTS:]) + 1e-3

    def play(self, rows: int, acting: Layers, asks: bool) -> torch.Tensor:
        """Returns `[worlds, rows]`."""
        states = torch.randn(1, rows, STATE).repeat(MEMBERS, 1, 1)
        returns = torch.zeros(MEMBERS, rows)
        for _ in range(HORIZON):
            flat = states.reshape(1, -1, STATE)
            actions = outputs(acting, flat, smooth=acting is self.behaviour).tanh_().reshape(MEMBERS, rows, ACTION)
            inputs = torch.cat([states, actions], -1)
            means, _ = self.predict(inputs)
            if asks:
                asked = inputs[:, :ASKED].reshape(1, -1, STATE + ACTION).expand(MEMBERS, -1, -1)
                self.predict(asked)[0].std(0)
            lent = self.errors[torch.randint(0, len(self.errors), (rows,))]
            means = means + lent
            states = (states + means[..., :STATE]).clamp(-3, 3)
            returns += means[..., STATE]
        return returns

    def seconds(self) -> list[float]:
        """Of the policy's episodes alone, and with the rest."""
        self.play(100, self.policy, asks=False)
        begun = time.perf_counter()
        self.play(EPISODES, self.policy, asks=False)
        alone = time.perf_counter() - begun
        begun = time.perf_counter()
        self.play(EPISODES, self.policy, asks=True)
        for replayed in [LOGGED] * 5 + [8 * LOGGED]:
            self.play(replayed, self.behaviour, asks=False)
        return [alone, time.perf_counter() - begun]


def turn(which: str, folder: Path) -> list[float]:
    """By a process of its own."""
    threads = ["--threads", str(arguments.threads)]
    words = [sys.executable, __file__, "--one", which, "--folder", str(folder), *threads]
    found: list[float] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return found


def main() -> None:
    """Both of them, in turns."""
    if arguments.one:
        torch.set_num_threads(arguments.threads)
        torch.set_flush_denormal(True)
        with torch.no_grad():
            print(json.dumps(seconds_of_hambo(arguments.folder) if arguments.one == "hambo" else Torch().seconds()))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hambo.fit(walks(), hambo.Ensemble(max_steps=400), seed=0, progress=False).save(folder / "model")
        write_policy(folder / "policy.onnx")
        print(f"{arguments.threads} threads, PyTorch {torch.__version__}, {arguments.turns} turns")
        turns = [(turn("hambo", folder)[0], turn("torch", folder)) for _ in range(arguments.turns)]
    for index, part in enumerate(["the policy's episodes alone", "with the networks' part of the rest"]):
        ours, other = statistics.median(a for a, _ in turns), statistics.median(b[index] for _, b in turns)
        ratios = sorted(a / b[index] for a, b in turns)
        print(
            f"hambo, everything {ours:.1f} s, PyTorch, {part} {other:.1f} s; "
            f"{statistics.median(ratios):.2f} of its time ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


if __name__ == "__main__":
    main()
