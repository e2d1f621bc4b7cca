"""What it costs that a policy is a Python function: the same linear policy as a NumPy callable and as an ONNX file.

Both run in the same process, in turns, on a model of the usual size, in batches of 1,000. An ONNX file is run by
Rust alone, so its evaluation holds no call of Python at all.

Usage: callable_policy.py [TURNS]; needs `pip install onnx`.
"""

import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

import hambo
from hambo.tasks import SwingUp, simulate

EPISODES = 1000
GAINS = np.array([[0.3], [-0.8], [-0.1]], dtype=np.float32)


def linear(states: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The policy as a callable."""
    actions: npt.NDArray[np.float32] = states @ GAINS
    return actions


def export(path: Path) -> None:
    """The policy as an ONNX file."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["state", "gains"], ["action"])],
        "linear",
        [helper.make_tensor_value_info("state", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", 1])],
        [numpy_helper.from_array(GAINS, "gains")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def alternate(work: dict[str, Callable[[], object]], turns: int, steps: int) -> None:
    """Print what a step costs with each policy, as medians over turns, and how they compare."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for _ in range(turns):
        for name, job in work.items():
            wall, processor = time.perf_counter(), time.process_time()
            job()
            found[name].append((time.perf_counter() - wall, time.process_time() - processor))
    for column, kind in enumerate(("wall", "processor")):
        times = {name: [turn[column] for turn in times] for name, times in found.items()}
        medians = {name: 1e3 * statistics.median(seconds) / steps for name, seconds in times.items()}
        shown = ", ".join(f"{name} {median:.3f} ms" for name, median in medians.items())
        ratio = statistics.median(mine / its for mine, its in zip(*times.values(), strict=True))
        print(f"  {kind} time per step: {shown}; the callable takes {100 * (ratio - 1):+.1f} %, median over turns")


logging.getLogger("hambo").setLevel(logging.ERROR)
turns = int(sys.argv[1]) if len(sys.argv) > 1 else 15
data = simulate("pendulum", SwingUp.weak(), episodes=20, horizon=100)
# Networks of the usual size; it does not matter what they learned.
model = hambo.fit(data, hambo.Ensemble(max_steps=1, evaluate_every=1))
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "linear.onnx"
    export(file)
    print(f"{turns} turns of {EPISODES} episodes")
    policies: dict[str, Any] = {"callable": linear, "ONNX": file}
    evaluations: dict[str, Callable[[], object]] = {
        name: partial(hambo.evaluate, model, policy, horizon=50, episodes=EPISODES, variants=["DS"])
        for name, policy in policies.items()
    }
    print("on the model (DS), 50 steps:")
    alternate(evaluations, turns, 50)
    # The true dynamics take next to no time, so nearly all of this is the policy and the call.
    simulations: dict[str, Callable[[], object]] = {
        name: partial(simulate, "pendulum", policy, episodes=EPISODES, horizon=500) for name, policy in policies.items()
    }
    print("on the pendulum itself, 500 steps:")
    alternate(simulations, turns, 500)
