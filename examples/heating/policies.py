"""Controllers of the heater, and their ONNX files.

python policies.py
"""

import numpy as np

INPUTS = ["room_temp_C", "hour_cos", "building=B"]


def thermostat(states: np.ndarray, gain: float, by_night: float, by_day: float) -> np.ndarray:
    """kW in proportion to what the room lacks, for `states` with the columns INPUTS."""
    room, hour_cos = states[:, 0], states[:, 1]
    # The night is from about 20:30 to 3:30.
    wanted = np.where(hour_cos > 0.6, by_night, by_day)
    return np.clip(gain * (wanted - room) + 1.2, 0.0, 8.0)[:, None]


def today(states: np.ndarray) -> np.ndarray:
    """What runs in the two buildings, and wrote the logs."""
    of_a, of_b = thermostat(states, 2.0, 19.0, 21.0), thermostat(states, 3.0, 19.3, 21.3)
    return np.where(states[:, 2:] > 0.5, of_b, of_a)


def better(states: np.ndarray) -> np.ndarray:
    """Lets the night be less cold, so that the morning is not."""
    return thermostat(states, 2.5, 19.6, 21.0)


def risky(states: np.ndarray) -> np.ndarray:
    """Saves all night and hurries in the morning, at full power."""
    return thermostat(states, 15.0, 18.0, 22.0)


POLICIES = {"today": today, "better": better, "risky": risky}


def export(name: str, weights: list[tuple[float, float, float]]) -> None:
    """Writes NAME.onnx: one thermostat (gain, by night, by day) for each building."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def constant(key: str, *values: float) -> onnx.TensorProto:
        return numpy_helper.from_array(np.array(values, np.float32), key)

    numbers = [constant("dusk", 0.6), constant("half", 0.5), constant("base", 1.2)]
    numbers += [constant("least", 0.0), constant("most", 8.0)]
    nodes = [
        helper.make_node("Split", ["state"], ["room", "hour_cos", "is_b"], axis=1),
        helper.make_node("Greater", ["hour_cos", "dusk"], ["night"]),
        helper.make_node("Greater", ["is_b", "half"], ["in_b"]),
    ]
    for building, (gain, by_night, by_day) in zip("ab", weights, strict=True):
        numbers += [constant(f"gain_{building}", gain)]
        numbers += [constant(f"by_night_{building}", by_night), constant(f"by_day_{building}", by_day)]
        nodes += [
            helper.make_node("Where", ["night", f"by_night_{building}", f"by_day_{building}"], [f"wanted_{building}"]),
            helper.make_node("Sub", [f"wanted_{building}", "room"], [f"lacks_{building}"]),
            helper.make_node("Mul", [f"lacks_{building}", f"gain_{building}"], [f"more_{building}"]),
        ]
    nodes += [
        helper.make_node("Where", ["in_b", "more_b", "more_a"], ["more"]),
        helper.make_node("Add", ["more", "base"], ["wish"]),
        helper.make_node("Max", ["wish", "least"], ["positive"]),
        helper.make_node("Min", ["positive", "most"], ["action"]),
    ]
    batch = [helper.make_tensor_value_info("state", TensorProto.FLOAT, ["batch", len(INPUTS)])]
    actions = [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", 1])]
    graph = helper.make_graph(nodes, name, batch, actions, numbers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, f"{name}.onnx")
    print(f"{name}.onnx written, for the columns {', '.join(INPUTS)}")


if __name__ == "__main__":
    export("today", [(2.0, 19.0, 21.0), (3.0, 19.3, 21.3)])
    export("better", [(2.5, 19.6, 21.0)] * 2)
    export("risky", [(15.0, 18.0, 22.0)] * 2)
