"""Writes one ONNX model with its inputs and expected outputs, and checks that the graph reproduces them."""

import json
import platform
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator

OPSET = 17
INPUT_NAMES = ["state", "action", "next_state"]
# Graphs compute in float32, in another order than the libraries do.
TOLERANCE = 2e-5
LIBRARIES = ["torch", "onnx", "stable-baselines3", "d3rlpy", "gymnasium", "mujoco", "numpy"]


def write_case(
    out: Path,
    name: str,
    module: torch.nn.Module | None,
    inputs: list[np.ndarray],
    answers: dict[str, np.ndarray],
    *,
    declare_unused_inputs: bool = False,
) -> None:
    """`inputs` are [state] or [state, action, next_state]. Without a `module` the file `name`.onnx is there already.

    The exporter drops inputs that the module does not use; `declare_unused_inputs` puts them back.
    """
    path = out / f"{name}.onnx"
    if module is not None:
        export(module, inputs, list(answers), path)
    if declare_unused_inputs:
        declare_inputs(path, inputs)
    strip_comments(path)
    graph = onnx.load(path).graph
    found = [value.name for value in graph.output]
    if module is None:  # another library chose the names
        answers = dict(zip(found, answers.values(), strict=True))
    assert found == list(answers), f"{name}: outputs {found}, expected {list(answers)}"

    difference = largest_difference(path, inputs, answers)
    assert difference < TOLERANCE, f"{name}: the graph differs from the library by {difference}"
    files = {output: f"{name}.expected.bin" if number == 0 else f"{name}.expected_{output}.bin" for number, output in enumerate(answers)}
    write_floats(out / f"{name}.inputs.bin", *inputs)
    for output, answer in answers.items():
        write_floats(out / files[output], answer)

    input_names = [value.name for value in graph.input]
    first = next(iter(answers.values()))
    description = {
        "inputs": len(input_names),
        "input_name": input_names[0],
        "input_names": input_names,
        "arrays_of_inputs_bin": INPUT_NAMES[: len(inputs)],
        "rows": len(inputs[0]),
        "state_dim": inputs[0].shape[1],
        "action_dim": inputs[1].shape[1] if len(inputs) > 1 else first.shape[1],
        "outputs": list(answers),
        "expected": files,
        "largest_difference_of_reference_evaluator": difference,
        "library_versions": {"python": platform.python_version()} | {library: version(library) for library in LIBRARIES},
    }
    (out / f"{name}.json").write_text(json.dumps(description, indent=1) + "\n")
    print(f"{name}: {len(inputs[0])} rows, {path.stat().st_size} bytes, difference {difference:.1e}", flush=True)


def export(module: torch.nn.Module, inputs: list[np.ndarray], output_names: list[str], path: Path) -> None:
    input_names = INPUT_NAMES[: len(inputs)]
    examples = tuple(torch.as_tensor(array[:2]) for array in inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that takes these graphs is called old
        torch.onnx.export(
            module.eval(),
            examples,
            str(path),
            dynamo=False,
            opset_version=OPSET,
            input_names=input_names,
            output_names=output_names,
            dynamic_axes={name: {0: "batch"} for name in [*input_names, *output_names]},
        )


def declare_inputs(path: Path, inputs: list[np.ndarray]) -> None:
    model = onnx.load(path)
    del model.graph.input[:]
    for name, array in zip(INPUT_NAMES, inputs, strict=False):
        shape = ["batch", array.shape[1]]
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
    onnx.save(model, path)


def strip_comments(path: Path) -> None:
    """Exporters may note source lines, with the paths of the machine that made the file."""
    model = onnx.load(path)
    model.graph.doc_string = ""
    for node in model.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    onnx.checker.check_model(model)
    onnx.save(model, path)


def largest_difference(path: Path, inputs: list[np.ndarray], answers: dict[str, np.ndarray]) -> float:
    """Over all outputs, relative to max(1, |answer|), by ONNX's own evaluator."""
    model = onnx.load(path)
    names = [value.name for value in model.graph.input]
    if len(inputs) == 1:
        fed = {names[0]: inputs[0]}
    else:
        fed = {name: inputs[INPUT_NAMES.index(name)] for name in names}
    outputs = ReferenceEvaluator(model).run(list(answers), fed)
    worst = 0.0
    for output, answer in zip(outputs, answers.values(), strict=True):
        gap = np.abs(output.reshape(answer.shape).astype(np.float64) - answer) / np.maximum(1.0, np.abs(answer))
        worst = max(worst, float(gap.max()))
    return worst


def write_floats(path: Path, *arrays: np.ndarray) -> None:
    path.write_bytes(b"".join(np.ascontiguousarray(array, dtype="<f4").tobytes() for array in arrays))
