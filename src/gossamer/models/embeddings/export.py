"""An anchor table as an ONNX graph: Gather and a weighted sum, which every runtime has (extra `export`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from gossamer.core.atomic import replacing_file
from gossamer.core.checks import check_choice, check_int
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.slots import slots_from_csr
from gossamer.persistence.lookup import NumpyTable

OPSET = 17  # of 2022: runtimes of the last years have it, and nothing newer is needed
IR_VERSION = 8  # the file format of that opset's time
LARGEST_BYTES = (1 << 31) - (1 << 20)  # protobuf's limit for one message, less some room for the graph


def export_onnx(
    table: AnchorEmbedding | NumpyTable,
    path: str | os.PathLike[str],
    *,
    graph: str = "rows",
    num_axes: int = 1,
    id_dtype: str = "int64",
) -> None:
    """Write a table as an ONNX file of opset 17, whole or not at all.

    `graph="rows"` maps `ids` to `vectors`, float32: (N,) to (N, D), or (B, T) to (B, T, D) with `num_axes=2`, and so
    on; ids are `id_dtype`, int64 or int32. `graph="logits"` maps `hidden` (N, D) to the `logits` (N, V) of a tied
    output layer. All axes but D and V are free. An artifact's table is `NumpyTable.load(artifact, name)`. Runtimes
    take negative ids from the end, as NumPy does, and refuse ids beyond the last.
    """
    check_choice("graph", graph, ["rows", "logits"])
    check_choice("id_dtype", id_dtype, ["int64", "int32"])
    check_int("num_axes", num_axes, at_least=0)
    onnx = _require_onnx()
    plain = _plain(table)
    num_rows, width = plain.shape
    free: list[int | str] = [f"axis_{axis}" for axis in range(num_axes)]
    float32, make_value = onnx.TensorProto.FLOAT, onnx.helper.make_tensor_value_info
    if graph == "rows":
        ids = onnx.TensorProto.INT64 if id_dtype == "int64" else onnx.TensorProto.INT32
        taken, given = make_value("ids", ids, free), make_value("vectors", float32, [*free, width])
    else:
        taken, given = make_value("hidden", float32, [*free, width]), make_value("logits", float32, [*free, num_rows])
    nodes = _row_nodes(onnx) if graph == "rows" else _logit_nodes(onnx)
    body = onnx.helper.make_graph(nodes, f"anchor_{graph}", [taken], [given], _weights(onnx, plain))
    opset = onnx.helper.make_opsetid("", OPSET)
    model = onnx.helper.make_model(body, opset_imports=[opset], ir_version=IR_VERSION, producer_name="gossamer")
    onnx.checker.check_model(model)
    with replacing_file(Path(path)) as temporary:
        temporary.write_bytes(model.SerializeToString())


def padded_arrays(table: AnchorEmbedding | NumpyTable) -> dict[str, np.ndarray]:
    """Return anchors, and T as rows of equal length so that a lookup is a plain Gather, in the smallest integers."""
    plain = _plain(table)
    fullest = max(1, int(np.diff(plain.indptr).max()))
    slots, values = slots_from_csr(plain.transform(), fullest)
    slots = slots.astype(np.min_scalar_type(len(plain.anchors) - 1))
    return {"anchors": plain.anchors, "slots": slots, "values": values}


def _weights(onnx: Any, table: NumpyTable) -> list[Any]:
    arrays = padded_arrays(table)
    if sum(array.nbytes for array in arrays.values()) > LARGEST_BYTES:
        num_rows, fullest = arrays["slots"].shape
        raise ValueError(f"table must take less than 2 GB in ONNX, got {num_rows} rows of {fullest} weights")
    return [onnx.numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in arrays.items()]


def _row_nodes(onnx: Any) -> list[Any]:
    """Σ_s values[i, s] · anchors[slots[i, s]] as (…, 1, S) @ (…, S, D)."""
    node = onnx.helper.make_node
    axis = onnx.numpy_helper.from_array(np.array([-2], np.int64))
    return [
        node("Constant", [], ["axis"], value=axis),
        node("Gather", ["slots", "ids"], ["columns"]),
        node("Cast", ["columns"], ["anchor_ids"], to=onnx.TensorProto.INT32),
        node("Gather", ["anchors", "anchor_ids"], ["parts"]),
        node("Gather", ["values", "ids"], ["shares"]),
        node("Unsqueeze", ["shares", "axis"], ["share_rows"]),
        node("MatMul", ["share_rows", "parts"], ["sums"]),
        node("Squeeze", ["sums", "axis"], ["vectors"]),
    ]


def _logit_nodes(onnx: Any) -> list[Any]:
    """hidden · Aᵀ first, then Σ_s values[v, s] · scores[slots[v, s]] for every v."""
    node = onnx.helper.make_node
    axis = onnx.numpy_helper.from_array(np.array([-1], np.int64))
    return [
        node("Constant", [], ["axis"], value=axis),
        node("Transpose", ["anchors"], ["directions"], perm=[1, 0]),
        node("MatMul", ["hidden", "directions"], ["scores"]),
        node("Cast", ["slots"], ["anchor_ids"], to=onnx.TensorProto.INT32),
        node("Gather", ["scores", "anchor_ids"], ["parts"], axis=-1),
        node("Mul", ["parts", "values"], ["shares"]),
        node("ReduceSum", ["shares", "axis"], ["logits"], keepdims=0),
    ]


def _plain(table: AnchorEmbedding | NumpyTable) -> NumpyTable:
    if isinstance(table, NumpyTable):
        return table
    if not isinstance(table, AnchorEmbedding):
        raise ValueError(f"table must be an AnchorEmbedding or a NumpyTable, got {type(table).__name__}")
    arrays = table.stored()
    if table.padding_idx is not None:
        begin, end = arrays["indptr"][table.padding_idx : table.padding_idx + 2]
        arrays["values"][begin:end] = 0
    return NumpyTable(**arrays)


def _require_onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("exporting needs onnx; install it with: pip install 'gossamer[export]'") from error
    return onnx
