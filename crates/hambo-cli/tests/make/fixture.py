"""Writes the files of ../fixture: logs of Gymnasium's Pendulum-v1, and policies.

    python fixture.py        # needs gymnasium, numpy and onnx
"""
import csv
import shutil
from pathlib import Path

import gymnasium
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FIXTURE = Path(__file__).parent.parent / "fixture"
NAMES = ["cos", "sin", "speed"]


def write_logs(path, nan_at=None):
    environment = gymnasium.make("Pendulum-v1")
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["episode", "step", *NAMES, "torque", "reward", *(f"next_{n}" for n in NAMES), "truncated"])
        for episode in range(12):
            state, _ = environment.reset(seed=episode)
            for step in range(20):
                action = rng.uniform(-2, 2, size=1).astype(np.float32)
                following, reward, _, _, _ = environment.step(action)
                row = [*state, action[0], np.float32(reward), *following]
                if (episode, step) == nan_at:
                    row[2] = float("nan")
                writer.writerow([episode, step, *(repr(float(v)) for v in row), str(step == 19).lower()])
                state = following


def write_policy(path, inputs, outputs):
    """A linear policy."""
    weights = numpy_helper.from_array(np.full((inputs, outputs), -0.1, dtype=np.float32), "weights")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["state", "weights"], ["action"], name="linear")],
        "linear",
        [helper.make_tensor_value_info("state", TensorProto.FLOAT, ["batch", inputs])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", outputs])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


write_logs(FIXTURE / "logs.csv")
write_logs(FIXTURE / "nan.csv", nan_at=(3, 4))
write_policy(FIXTURE / "linear.onnx", 3, 1)
write_policy(FIXTURE / "hopper.onnx", 11, 3)
shutil.copy(FIXTURE.parent.parent / "assets" / "swing_up.onnx", FIXTURE / "policy.onnx")
