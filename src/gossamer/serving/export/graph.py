"""An ONNX graph written as arithmetic: values with operators, and the few functions that models are made of.

Graphs are built by hand instead of traced, because a model's answer is a few gathers and products: nothing but `onnx`
is needed to write them, every axis that should be free is free, and no version of torch can change what a file holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from gossamer.networks.low_rank import LowRankLinear

OPSET = 18  # of 2022: the first whose ScatterElements adds and whose reductions all take their axes as inputs
IR_VERSION = 8  # the file format of that opset's time
LARGEST_BYTES = (1 << 31) - (1 << 20)  # protobuf's limit for one message, less some room for the nodes

Operand = Any  # a Value, an array, a tensor or a number


@dataclass(frozen=True)
class Value:
    """One edge of a graph; operators append nodes to it."""

    __array_ufunc__ = None  # `array - value` is this class's to answer, not NumPy's

    graph: Graph
    name: str

    def __add__(self, other: Operand) -> Value:
        return self.graph.op("Add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Value:
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.graph.op("Sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.graph.op("Mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Value:
        return self.graph.op("Div", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.graph.op("Div", other, self)

    def __matmul__(self, other: Operand) -> Value:
        return self.graph.op("MatMul", self, other)

    def __rmatmul__(self, other: Operand) -> Value:
        return self.graph.op("MatMul", other, self)

    def __neg__(self) -> Value:
        return self.graph.op("Neg", self)

    def __lt__(self, other: Operand) -> Value:
        return self.graph.op("Less", self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.graph.op("Greater", self, other)

    def __ge__(self, other: Operand) -> Value:
        return self.graph.op("GreaterOrEqual", self, other)

    def apply(self, kind: str, **attributes: Any) -> Value:
        """Return an operator of this value alone, such as "Relu"."""
        return self.graph.op(kind, self, **attributes)

    def cast(self, dtype: type[np.generic]) -> Value:
        """Return the same numbers as another type."""
        return self.graph.op("Cast", self, to=np.dtype(dtype))

    def sum(self, *axes: int, keep: bool = False) -> Value:
        """Return the sum over axes."""
        return self.graph.op("ReduceSum", self, np.array(axes), keepdims=int(keep))

    def max(self, *axes: int, keep: bool = False) -> Value:
        """Return the largest over axes."""
        return self.graph.op("ReduceMax", self, np.array(axes), keepdims=int(keep))

    def at_least(self, bound: Operand) -> Value:
        """Return the larger of this and `bound`."""
        return self.graph.op("Max", self, bound)

    def at_most(self, bound: Operand) -> Value:
        """Return the smaller of this and `bound`."""
        return self.graph.op("Min", self, bound)

    def part(self, begin: int, end: int, axis: int = -1) -> Value:
        """Return a stretch of one axis."""
        return self.graph.op("Slice", self, np.array([begin]), np.array([end]), np.array([axis]))

    def add_axis(self, *axes: int) -> Value:
        """Return the value with axes of length 1."""
        return self.graph.op("Unsqueeze", self, np.array(axes))

    def drop_axis(self, *axes: int) -> Value:
        """Return the value without these axes of length 1."""
        return self.graph.op("Squeeze", self, np.array(axes))

    def reshape(self, *shape: int) -> Value:
        """Return the value in another shape; 0 keeps an axis and -1 takes what is left."""
        return self.graph.op("Reshape", self, np.array(shape))

    def length(self, axis: int) -> Value:
        """Return how long an axis is, as a vector of one number."""
        return self.graph.op("Shape", self, start=axis, end=axis + 1)


def _require_onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("exporting needs onnx; install it with: pip install 'gossamer[export]'") from error
    return onnx


@dataclass(frozen=True)
class Node:
    """One operator: the names of what goes in ("" where an operand is left out) and of what comes out."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]

    def onnx(self) -> Any:
        """Return the node as onnx has it, and so the body of a loop."""
        helper = _require_onnx().helper

        def plain(value: Any) -> Any:
            if isinstance(value, Graph):
                return value.onnx()
            return helper.np_dtype_to_tensor_dtype(value) if isinstance(value, np.dtype) else value

        return helper.make_node(
            self.kind, self.inputs, self.outputs, **{key: plain(value) for key, value in self.attributes.items()}
        )


@dataclass(frozen=True)
class Port:
    """What goes into a graph or comes out of it; an axis that is a word is free."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | str, ...]


@dataclass
class Graph:
    """A graph that grows; `answers` says in a sentence which of the model's answers it gives.

    It is drawn without `onnx`, which only `model` needs: others may want to look at it. `real` is what numbers of
    double precision become; `scope` begins the names of a graph that is the body of a loop in another.
    """

    answers: str = ""
    real: type[np.floating[Any]] = np.float32
    scope: str = ""
    nodes: list[Node] = field(default_factory=list, repr=False)
    constants: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    inputs: list[Port] = field(default_factory=list, repr=False)
    outputs: list[Port] = field(default_factory=list, repr=False)

    def input(self, name: str, dtype: type[np.generic], *shape: int | str) -> Value:
        """Add an input; an axis that is a word is free."""
        self.inputs.append(Port(name, np.dtype(dtype), shape))
        return Value(self, name)

    def output(self, name: str, value: Value, dtype: type[np.generic], *shape: int | str) -> None:
        """Name a value as what comes out."""
        self.nodes.append(Node("Identity", [value.name], [name], {}))
        self.outputs.append(Port(name, np.dtype(dtype), shape))

    def constant(self, array: Operand) -> Value:
        """Return an array, tensor or number as a value: real, bool or int64; a table of smaller integers stays."""
        if isinstance(array, torch.Tensor):
            array = array.detach().cpu().numpy()
        found = np.asarray(array)
        if found.dtype.kind == "f":
            found = found.astype(self.real if found.dtype == np.float64 else np.float32, copy=False)
        elif found.dtype.kind == "i" and found.ndim < 2:
            found = found.astype(np.int64, copy=False)
        name = f"{self.scope}constant_{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(found)
        return Value(self, name)

    def op(self, kind: str, *operands: Operand, **attributes: Any) -> Value:
        """Add a node with one result; operands that are no values become constants, None is left out."""
        return self.op_of(kind, 1, *operands, **attributes)[0]

    def op_of(self, kind: str, num_results: int, *operands: Operand, **attributes: Any) -> list[Value]:
        """Add a node with several results."""
        given = [operand if isinstance(operand, Value) else self._operand(operand) for operand in operands]
        names = [f"{self.scope}{kind}_{len(self.nodes)}_{place}" for place in range(num_results)]
        self.nodes.append(Node(kind, [value.name for value in given], names, attributes))
        return [Value(self, name) for name in names]

    def _operand(self, operand: Operand) -> Value:
        return Value(self, "") if operand is None else self.constant(operand)

    def body(self) -> Graph:
        """Return an empty graph for a loop in this one; it may `see` this one's values."""
        return Graph(real=self.real, scope=f"{self.scope}loop_{len(self.nodes)}/")

    def see(self, outside: Value) -> Value:
        """Return a value of the graph around this one, for operators of this one."""
        return Value(self, outside.name)

    def scan(
        self, body: Graph, carried: list[Value], steps: list[Value], num_outputs: int, *, backwards: bool = False
    ) -> list[Value]:
        """Run `body` along the first axis of `steps`; return what it carried last, then what it put out, stacked.

        The inputs of the body are what is carried and a row of each of `steps`, its outputs what is carried on and
        `num_outputs` rows.
        """
        way = int(backwards)
        return self.op_of(
            "Scan",
            len(carried) + num_outputs,
            *carried,
            *steps,
            body=body,
            num_scan_inputs=len(steps),
            scan_input_directions=[way] * len(steps),
            scan_output_directions=[way] * num_outputs,
        )

    def gather(self, table: Operand, rows: Operand, axis: int = 0) -> Value:
        """Return rows of a table."""
        return self.op("Gather", table, rows, axis=axis)

    def where(self, condition: Value, yes: Operand, no: Operand) -> Value:
        """Return one or the other."""
        return self.op("Where", condition, yes, no)

    def join(self, *parts: Operand, axis: int = -1) -> Value:
        """Return parts one after the other."""
        return self.op("Concat", *parts, axis=axis)

    def range(self, count: Value) -> Value:
        """Return 0 … count - 1; `count` is a vector of one number, as `Value.length` gives."""
        return self.op("Range", np.int64(0), count.drop_axis(0), np.int64(1))

    def linear(self, layer: Any, inputs: Value) -> Value:
        """Return x Wᵀ + b of an `nn.Linear`, or of one that was split into two and stays so."""
        if isinstance(layer, LowRankLinear):
            first, second = layer
            return self.linear(second, self.linear(first, inputs))
        product: Value = inputs @ layer.weight.detach().T
        return product if layer.bias is None else self.op("Add", product, layer.bias)

    def num_bytes(self) -> int:
        """Return what the constants take."""
        return sum(array.nbytes for array in self.constants.values())

    def onnx(self) -> Any:
        """Return nodes, ports and constants as onnx has them."""
        onnx = _require_onnx()
        helper = onnx.helper
        inputs, outputs = (
            [
                helper.make_tensor_value_info(port.name, helper.np_dtype_to_tensor_dtype(port.dtype), list(port.shape))
                for port in ports
            ]
            for ports in (self.inputs, self.outputs)
        )
        weights = [onnx.numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        name = self.scope.strip("/").replace("/", "_") or "gossamer"
        return helper.make_graph([node.onnx() for node in self.nodes], name, inputs, outputs, weights)

    def model(self, metadata: dict[str, str]) -> Any:
        """Return the checked ONNX model."""
        size = self.num_bytes()
        if size > LARGEST_BYTES:
            raise ValueError(f"the model must take less than 2 GB in ONNX, got {size:,} bytes")
        onnx = _require_onnx()
        helper = onnx.helper
        body = self.onnx()
        made = helper.make_model(
            body,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="gossamer",
            doc_string=self.answers,
        )
        helper.set_model_props(made, metadata)
        onnx.checker.check_model(made)
        return made
