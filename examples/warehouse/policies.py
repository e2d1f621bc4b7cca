"""Three ordering rules for the warehouse, as numpy functions and as ONNX files.

`python policies.py` writes today.onnx, better.onnx and risky.onnx. Each rule is written twice, once
for numpy and once as ONNX nodes; the export checks that both give the same orders.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

INPUTS = [
    "hour",
    "order_up_to_pcs",
    "stock_pcs",
    "due_1_pcs",
    "due_2_pcs",
    "due_3_pcs",
    "demand_pcs",
]
HOUR, LEVEL, STOCK, DUE_1, DUE_2, DUE_3 = range(6)

MAX_ORDER = 80.0  # what one delivery van can carry
GAP = 20.0  # today nobody orders before this many pieces are missing
EVENING = 16.0  # what is ordered from this hour on arrives when few customers are left
EARLY = 3.0  # what is ordered from this hour on arrives for the morning
DAY_LEVEL, NIGHT_LEVEL = 64.0, 50.0
LEAN_LEVEL = 40.0


def missing_pieces(states, level):
    """How far stock and open orders are below `level`."""
    position = states[:, STOCK] + states[:, DUE_1] + states[:, DUE_2] + states[:, DUE_3]
    return level - position


def whole_order(short, gap):
    """Order what is missing, in whole pieces, but only if more than `gap` pieces are missing."""
    order = np.where(short > gap, np.floor(short + 0.5), 0.0)
    return np.clip(order, 0.0, MAX_ORDER)[:, None]


def today(states):
    """Fill up to the planner's level: the rule that made the logs."""
    return whole_order(missing_pieces(states, states[:, LEVEL]), GAP)


def better(states):
    """As today, but hold less over the night: from the afternoon on the level is lower."""
    hour = states[:, HOUR]
    night = (hour < EARLY) | (hour >= EVENING)
    level = np.where(night, NIGHT_LEVEL, DAY_LEVEL)
    return whole_order(missing_pieces(states, level), GAP)


def risky(states):
    """Hold as little as possible: cheap shelves, until customers find them empty."""
    return whole_order(missing_pieces(states, LEAN_LEVEL), GAP)


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


def onnx_order(g, level):
    """The nodes of `missing_pieces` and `whole_order`."""
    position = g.column(STOCK)
    for due in (DUE_1, DUE_2, DUE_3):
        position = g("Add", position, g.column(due))
    short = g("Sub", level, position)
    order = g("Where", g("Greater", short, GAP), g("Floor", g("Add", short, 0.5)), 0.0)
    return g("Clip", order, 0.0, MAX_ORDER)


def onnx_today(g):
    """The nodes of `today`."""
    return onnx_order(g, g.column(LEVEL))


def onnx_better(g):
    """The nodes of `better`."""
    hour = g.column(HOUR)
    from_early_on = g("Where", g("Less", hour, EARLY), NIGHT_LEVEL, DAY_LEVEL)
    return onnx_order(g, g("Where", g("Less", hour, EVENING), from_early_on, NIGHT_LEVEL))


def onnx_risky(g):
    """The nodes of `risky`."""
    return onnx_order(g, LEAN_LEVEL)


POLICIES = {"today": today, "better": better, "risky": risky}
ONNX = {"today": onnx_today, "better": onnx_better, "risky": onnx_risky}


def check(policy, path):
    """Refuse a file that does not give the same orders as the numpy function."""
    rng = np.random.default_rng(0)
    highest = [24, 80, 80, 60, 60, 60, 20]
    states = rng.integers(0, highest, (10_000, len(INPUTS))).astype(np.float32)
    (orders,) = ReferenceEvaluator(str(path)).run(None, {"state": states})
    np.testing.assert_array_equal(orders, policy(states))


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
