"""Three ways to run the pump, as numpy functions and as ONNX files.

`python policies.py` writes today.onnx, better.onnx and risky.onnx. Each rule is written twice, once
for numpy and once as ONNX nodes; the export checks that both give the same speeds.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

INPUTS = [
    "hour",
    "price_eur_kWh",
    "setpoint_m",
    "tank_level_m",
    "demand_m3h",
    "flow_m3h",
    "filter_dp_kPa",
]
HOUR, PRICE, SETPOINT, LEVEL, DEMAND, FLOW, DP = range(7)

SLOWEST, FASTEST = 20.0, 100.0  # pump speed in percent
USUAL = 50.0  # the speed at the setpoint
GAIN = 40.0  # percent of speed per metre that is missing
CHEAP, DEAR = 0.2, 0.3  # EUR/kWh: nights are below, evenings above

SOFT_GAIN = 25.0  # fewer bursts at high speed, where a litre costs most
SOFT_SETPOINTS = (2.7, 2.5, 2.2)  # metres: cheap, usual and dear hours
CHASING_GAIN = 15.0
CHASING_SETPOINTS = (3.2, 1.8, 0.8)


def speed(states, setpoint, gain):
    """The more water is missing, the faster."""
    wanted = USUAL + gain * (setpoint - states[:, LEVEL])
    return np.clip(wanted, SLOWEST, FASTEST)[:, None]


def setpoint_by_price(states, setpoints):
    """A high tank while energy is cheap, a low one while it is dear."""
    price = states[:, PRICE]
    cheap, usual, dear = setpoints
    return np.where(price < CHEAP, cheap, np.where(price > DEAR, dear, usual))


def today(states):
    """Hold the crew's setpoint, whatever energy costs: the controller that made the logs."""
    return speed(states, states[:, SETPOINT], GAIN)


def better(states):
    """Move the setpoint a little with the price, and let the tank take more of the swings."""
    return speed(states, setpoint_by_price(states, SOFT_SETPOINTS), SOFT_GAIN)


def risky(states):
    """Chase the price: the smallest energy bill of the three, until the tank runs low."""
    return speed(states, setpoint_by_price(states, CHASING_SETPOINTS), CHASING_GAIN)


class Graph:
    """Collects ONNX nodes; calling it adds one and gives the name of what it computes."""

    def __init__(self):
        """Start with no nodes."""
        self.nodes, self.constants = [], []

    def __call__(self, op, *inputs):
        """Add the node `op`; inputs are names, or numbers that become constants."""
        names = [x if isinstance(x, str) else self.constant(np.float32(x)) for x in inputs]
        name = f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [name]))
        return name

    def constant(self, value):
        """Store an array or a number."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def column(self, index):
        """One column of the state, as [batch, 1]."""
        start, end, axis = (self.constant(np.array([i], np.int64)) for i in (index, index + 1, 1))
        return self("Slice", "state", start, end, axis)

    def save(self, path):
        """Write the model; its output is what the last node computes."""
        self.nodes[-1].output[0] = "action"
        state = helper.make_tensor_value_info("state", TensorProto.FLOAT, ["batch", len(INPUTS)])
        output = helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", 1])
        graph = helper.make_graph(self.nodes, path.stem, [state], [output], self.constants)
        opset = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def onnx_speed(g, setpoint, gain):
    """The nodes of `speed`."""
    missing = g("Sub", setpoint, g.column(LEVEL))
    wanted = g("Add", g("Mul", missing, gain), USUAL)
    return g("Clip", wanted, SLOWEST, FASTEST)


def onnx_setpoint_by_price(g, setpoints):
    """The nodes of `setpoint_by_price`."""
    price = g.column(PRICE)
    cheap, usual, dear = setpoints
    not_cheap = g("Where", g("Greater", price, DEAR), dear, usual)
    return g("Where", g("Less", price, CHEAP), cheap, not_cheap)


def onnx_today(g):
    """The nodes of `today`."""
    return onnx_speed(g, g.column(SETPOINT), GAIN)


def onnx_better(g):
    """The nodes of `better`."""
    return onnx_speed(g, onnx_setpoint_by_price(g, SOFT_SETPOINTS), SOFT_GAIN)


def onnx_risky(g):
    """The nodes of `risky`."""
    return onnx_speed(g, onnx_setpoint_by_price(g, CHASING_SETPOINTS), CHASING_GAIN)


POLICIES = {"today": today, "better": better, "risky": risky}
ONNX = {"today": onnx_today, "better": onnx_better, "risky": onnx_risky}


def check(policy, path):
    """Refuse a file that does not give the same speeds as the numpy function."""
    rng = np.random.default_rng(0)
    highest = [24, 0.5, 3, 4, 500, 500, 120]
    states = rng.uniform(0, highest, (10_000, len(INPUTS))).astype(np.float32)
    (speeds,) = ReferenceEvaluator(str(path)).run(None, {"state": states})
    np.testing.assert_allclose(speeds, policy(states), atol=1e-3)


def main():
    """Export and check all three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("."), help="the folder to write to")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for name, policy in POLICIES.items():
        path = folder / f"{name}.onnx"
        graph = Graph()
        ONNX[name](graph)
        graph.save(path)
        check(policy, path)
        print(path)


if __name__ == "__main__":
    main()
