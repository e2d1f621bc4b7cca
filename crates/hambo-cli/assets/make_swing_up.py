"""Writes swing_up.onnx: the controller `SwingUp::GOOD` of hambo's Pendulum as a network.

    python make_swing_up.py        # needs onnx and numpy

ONNX has no atan2. Near the top, where the angle is needed, cos > 0.8 and atan(sin / cos) is the same.
"""
import math
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def constant(name, value):
    return numpy_helper.from_array(np.array(value, dtype=np.float32), name)


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs, [output], name=output, **attributes)


constants = [
    constant("pick_cos", [[1.0], [0.0], [0.0]]),
    constant("pick_sin", [[0.0], [1.0], [0.0]]),
    constant("pick_speed", [[0.0], [0.0], [1.0]]),
    constant("cos_near", math.cos(0.6)),
    constant("slow", 3.0),
    constant("proportional", -12.0),
    constant("derivative", -3.0),
    constant("zero", 0.0),
    constant("one", 1.0),
    constant("minus_one", -1.0),
    constant("half", 0.5),
    constant("gravity", 15.0),
    constant("pump", -2.0),
    constant("low", -2.0),
    constant("high", 2.0),
]
nodes = [
    node("MatMul", ["state", "pick_cos"], "cos"),
    node("MatMul", ["state", "pick_sin"], "sin"),
    node("MatMul", ["state", "pick_speed"], "speed"),
    # near the top: -(12 angle + 3 speed)
    node("Max", ["cos", "half"], "safe_cos"),
    node("Div", ["sin", "safe_cos"], "ratio"),
    node("Atan", ["ratio"], "angle"),
    node("Mul", ["angle", "proportional"], "push_back"),
    node("Mul", ["speed", "derivative"], "slow_down"),
    node("Add", ["push_back", "slow_down"], "hold"),
    # elsewhere: pump energy, -2 sign(speed) sign(energy)
    node("Mul", ["speed", "speed"], "speed_squared"),
    node("Mul", ["speed_squared", "half"], "kinetic"),
    node("Sub", ["cos", "one"], "height"),
    node("Mul", ["height", "gravity"], "potential"),
    node("Add", ["kinetic", "potential"], "energy"),
    node("Less", ["speed", "zero"], "backwards"),
    node("Where", ["backwards", "minus_one", "one"], "direction"),
    node("Less", ["energy", "zero"], "too_little"),
    node("Where", ["too_little", "minus_one", "one"], "surplus"),
    node("Mul", ["direction", "surplus"], "against"),
    node("Mul", ["against", "pump"], "swing"),
    # which of them
    node("Greater", ["cos", "cos_near"], "high_up"),
    node("Abs", ["speed"], "how_fast"),
    node("Less", ["how_fast", "slow"], "slowly"),
    node("And", ["high_up", "slowly"], "near_the_top"),
    node("Where", ["near_the_top", "hold", "swing"], "torque"),
    node("Clip", ["torque", "low", "high"], "action"),
]
graph = helper.make_graph(
    nodes,
    "swing_up",
    [helper.make_tensor_value_info("state", TensorProto.FLOAT, ["batch", 3])],
    [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", 1])],
    constants,
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, Path(__file__).parent / "swing_up.onnx")
