"""The shapes of what operators pass on, as ONNX works them out."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from gossamer.serving.export.graph import IR_VERSION, OPSET, Graph

MOST_READ = 1_024  # numbers of a constant that may say how long an axis is; weights only have a shape

Shape = tuple[int | str, ...]


def infer_shapes(graph: Graph) -> dict[str, Shape]:
    """Return the shape of every value that ONNX can tell, by name; an axis that is free is a word, or "?".

    Nothing where `onnx`, which the extra `export` brings, is not installed: a drawing does without.
    """
    if importlib.util.find_spec("onnx") is None:
        return {}
    import onnx

    helper = onnx.helper

    def told(name: str, dtype: np.dtype[Any], shape: Shape) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), list(shape))

    # Large constants go in as inputs: their numbers would be copied and read, and no shape depends on them.
    small = {name: array for name, array in graph.constants.items() if array.size <= MOST_READ}
    inputs = [told(port.name, port.dtype, port.shape) for port in graph.inputs]
    inputs += [told(name, array.dtype, array.shape) for name, array in graph.constants.items() if name not in small]
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in small.items()]
    outputs = [told(port.name, port.dtype, port.shape) for port in graph.outputs]
    body = helper.make_graph([node.onnx() for node in graph.nodes], "gossamer", inputs, outputs, weights)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(body, opset_imports=opset, ir_version=IR_VERSION)
    try:
        found = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except onnx.shape_inference.InferenceError:  # then a drawing has no shapes, which is no reason not to draw
        return {}
    values = [*found.input, *found.value_info, *found.output]
    return {value.name: _shape(value.type.tensor_type) for value in values if value.type.tensor_type.HasField("shape")}


def _shape(tensor: Any) -> Shape:
    return tuple(axis.dim_value if axis.HasField("dim_value") else _word(axis.dim_param) for axis in tensor.shape.dim)


def _word(name: str) -> str:
    """Return an axis's name; one that ONNX has made up says nothing."""
    return "?" if not name or name.startswith("unk__") else name
