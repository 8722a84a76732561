"""Plain torch modules as nodes of a graph: traced by torch.fx, translated layer by layer."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import fx, nn
from torch.nn import functional

from gossamer.serving.export.graph import Graph, Value

# By what modules call them: names, functions and classes of torch.
ACTIVATIONS: dict[Any, str] = {
    "relu": "Relu",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "identity": "Identity",
    torch.relu: "Relu",
    functional.relu: "Relu",
    torch.tanh: "Tanh",
    torch.sigmoid: "Sigmoid",
    functional.softplus: "Softplus",
    nn.ReLU: "Relu",
    nn.Tanh: "Tanh",
    nn.Sigmoid: "Sigmoid",
}
SILENT = (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d)  # nothing, once training is over


def activate(value: Value, activation: Any) -> Value:
    """Return an activation of `value`, by its name or by torch's function."""
    return value.apply(ACTIVATIONS[activation])


def run_module(graph: Graph, module: nn.Module, inputs: Value) -> Value:
    """Return what `module` makes of `inputs`, in evaluation mode; a layer that is not known here is named."""
    traced = fx.symbolic_trace(nn.Sequential(module))  # inside something, so that a single layer stays one
    values: dict[str, Any] = {}

    def found(argument: Any) -> Any:
        return fx.node.map_arg(argument, lambda node: values[node.name])

    for node in traced.graph.nodes:
        arguments, options = found(node.args), found(node.kwargs)
        if node.op == "placeholder":
            values[node.name] = inputs
        elif node.op == "output":
            result = arguments[0]
        elif node.op == "call_module":
            values[node.name] = _run_layer(graph, traced.get_submodule(str(node.target)), arguments[0])
        elif node.op == "call_function" and node.target in FUNCTIONS:
            values[node.name] = FUNCTIONS[node.target](graph, *arguments, **options)
        elif node.op == "call_function" and node.target in ACTIVATIONS:
            values[node.name] = activate(arguments[0], node.target)
        else:
            raise ValueError(f"the network must be of layers that ONNX export knows, got {node.format_node()}")
    assert isinstance(result, Value)
    return result


def _run_layer(graph: Graph, layer: nn.Module, inputs: Value) -> Value:
    if isinstance(layer, nn.Linear):
        return graph.linear(layer, inputs)
    if isinstance(layer, nn.Conv1d | nn.Conv2d):
        return _convolve(graph, layer, inputs)
    if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
        mean, variance = layer.running_mean, layer.running_var
        return graph.op(
            "BatchNormalization", inputs, layer.weight, layer.bias, mean, variance, epsilon=float(layer.eps)
        )
    if isinstance(layer, nn.GroupNorm):
        return group_norm(graph, layer, inputs)
    if isinstance(layer, nn.LeakyReLU):
        return inputs.apply("LeakyRelu", alpha=float(layer.negative_slope))
    if isinstance(layer, nn.SiLU):
        return inputs * inputs.apply("Sigmoid")
    if isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) == (1, -1):
        return inputs.apply("Flatten", axis=1)
    if isinstance(layer, SILENT):
        return inputs
    if type(layer) in ACTIVATIONS:
        return activate(inputs, type(layer))
    raise ValueError(f"the network must be of layers that ONNX export knows, got {layer}")


def _convolve(graph: Graph, layer: nn.Conv1d | nn.Conv2d, inputs: Value) -> Value:
    if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
        raise ValueError(f"convolutions must be padded with a number of zeros to be exported, got {layer}")
    return graph.op(
        "Conv",
        inputs,
        layer.weight,
        *([] if layer.bias is None else [layer.bias]),
        strides=list(layer.stride),
        pads=[*layer.padding, *layer.padding],
        dilations=list(layer.dilation),
        group=layer.groups,
    )


def group_norm(graph: Graph, layer: nn.GroupNorm, images: Value) -> Value:
    """Return each group of channels with mean 0 and variance 1, then scaled and shifted by channel."""
    grouped = images.reshape(0, layer.num_groups, -1)
    ones, zeros = np.ones(layer.num_groups, np.float32), np.zeros(layer.num_groups, np.float32)
    evened = graph.op("InstanceNormalization", grouped, ones, zeros, epsilon=float(layer.eps))
    evened = graph.op("Reshape", evened, images.apply("Shape"))
    return evened * layer.weight.detach()[:, None, None] + layer.bias.detach()[:, None, None]


def _mean(graph: Graph, inputs: Value, dim: Sequence[int] | int, keepdim: bool = False) -> Value:
    return graph.op("ReduceMean", inputs, np.atleast_1d(dim), keepdims=int(keepdim))


def _pad(graph: Graph, inputs: Value, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Value:
    """Pad as torch does, from the last axis on; both before and after in turn."""
    if mode != "constant":
        raise ValueError(f"mode must be 'constant' for padding to be exported, got {mode!r}")
    axes = np.arange(-1, -len(pad) // 2 - 1, -1)
    sizes = np.concatenate([np.asarray(pad)[0::2], np.asarray(pad)[1::2]])
    return graph.op("Pad", inputs, sizes, np.float32(value or 0.0), axes)


def _pick(graph: Graph, inputs: Value, key: Any) -> Value:
    """Return slices of axes, steps included."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(part, slice) for part in parts):
        raise ValueError(f"parts must be slices to be exported, got {key!r}")
    big = np.iinfo(np.int64).max
    rows = [(part.start or 0, big if part.stop is None else part.stop, part.step or 1) for part in parts]
    starts, ends, steps = np.array(rows).T
    return graph.op("Slice", inputs, starts, ends, np.arange(len(parts)), steps)


def _pool(kind: str) -> Callable[..., Value]:
    def pool(graph: Graph, inputs: Value, kernel_size: int, stride: int | None = None, **options: Any) -> Value:
        usual = {"ceil_mode": options.pop("ceil_mode", False), "padding": 0, "dilation": 1, "return_indices": False}
        for name, value in options.items():
            if value != usual.get(name):
                raise ValueError(f"{name} must be left out of pooling to be exported, got {value!r}")
        sizes = {"kernel_shape": [kernel_size] * 2, "strides": [stride or kernel_size] * 2}
        return graph.op(kind, inputs, **sizes, ceil_mode=int(usual["ceil_mode"]))

    return pool


FUNCTIONS: dict[Any, Callable[..., Value]] = {
    operator.add: lambda graph, first, second: graph.op("Add", first, second),
    operator.mul: lambda graph, first, second: graph.op("Mul", first, second),
    operator.getitem: _pick,
    torch.mean: _mean,
    functional.pad: _pad,
    functional.max_pool2d: _pool("MaxPool"),
    functional.avg_pool2d: _pool("AveragePool"),
}
