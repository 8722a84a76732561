"""One stored array of a model, looked at: its numbers, how they are spread, a corner of it, and the whole as .npy."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.explorer.layers import layer_tensors, units

NUM_BINS = 40
CORNER = 6
MOST_BYTES = 64 << 20  # that a browser is given; more lies in the artifact itself


@dataclass(frozen=True)
class TensorFacts:
    """What a person asks about an array; `counts` are those of equal steps from `low` to `high`.

    Infinite numbers and those that are none are counted in `not_finite` and left out of everything else; where all are,
    there is no `low`. `corner` are its first rows and columns, later axes laid side by side.
    """

    layer: str
    weight: str
    shape: list[int]
    dtype: str
    values: int
    bytes: int
    low: float | None
    high: float | None
    mean: float | None
    std: float | None
    zeros: int
    not_finite: int
    counts: list[int]
    corner: list[list[float | None]]
    can_download: bool


def stored_arrays(estimator: Any) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield (layer, weight, array) for everything that `look_inside` lists."""
    network = getattr(estimator, "network_", None)
    if not isinstance(network, nn.Module):
        for name, array in estimator.learned_arrays().items():
            yield name, name, np.asarray(array)
        return
    for layer, module in units(network):
        for weight, tensor in layer_tensors(module):
            yield layer, weight, _as_numpy(tensor)


def find_array(estimator: Any, layer: str, weight: str) -> np.ndarray:
    """Return one array by the names of its layer and of itself, or a NotFound that says which there are."""
    others: list[str] = []
    for one, name, array in stored_arrays(estimator):
        if one == layer and name == weight:
            return array
        if one == layer:
            others.append(name)
    if others:
        raise NotFound(f"The layer {layer[:80]!r} has no weight {weight[:80]!r}; it has {', '.join(others)}.")
    raise NotFound(f"This model has no layer {layer[:80]!r} with weights.")


def describe_array(layer: str, weight: str, array: np.ndarray) -> TensorFacts:
    """Return the facts of an array."""
    flat = array.ravel()
    finite = flat[np.isfinite(flat)] if flat.dtype.kind == "f" else flat
    spread: dict[str, Any] = {"low": None, "high": None, "mean": None, "std": None, "counts": []}
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        numbers = finite.astype(np.float32) if finite.dtype.kind == "b" else finite
        counts, _ = np.histogram(numbers, NUM_BINS, (low, high) if high > low else (low - 0.5, low + 0.5))
        spread = {
            "low": low,
            "high": high,
            "mean": float(finite.mean(dtype=np.float64)),
            "std": float(finite.std(dtype=np.float64)),
            "counts": counts.tolist(),
        }
    return TensorFacts(
        layer=layer,
        weight=weight,
        shape=list(array.shape),
        dtype=str(array.dtype),
        values=int(array.size),
        bytes=int(array.nbytes),
        zeros=int(finite.size - np.count_nonzero(finite)),
        not_finite=int(flat.size - finite.size),
        corner=_corner(array),
        can_download=array.nbytes <= MOST_BYTES,
        **spread,
    )


def npy_bytes(array: np.ndarray) -> bytes:
    """Return an array as a .npy file, which anything that reads NumPy's format opens; nothing in it is pickled."""
    if array.nbytes > MOST_BYTES:
        raise CannotAnswer(
            f"the array must have at most {MOST_BYTES:,} bytes to be sent to a browser, got {array.nbytes:,}: "
            "read it from model.safetensors in the artifact"
        )
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _corner(array: np.ndarray) -> list[list[float | None]]:
    """Return the first numbers, as a table.

    >>> _corner(np.array([[1.0, np.nan], [3.0, 4.0]]))
    [[1.0, None], [3.0, 4.0]]
    """
    if not array.size:
        return []
    if array.ndim < 2:
        wide = array.reshape(1, -1)[:, :CORNER]
    else:
        wide = array[:CORNER].reshape(min(CORNER, array.shape[0]), -1)[:, :CORNER]
    return [[float(value) if np.isfinite(value) else None for value in row] for row in wide]


def _as_numpy(tensor: Tensor) -> np.ndarray:
    kept = tensor.detach().cpu()
    # NumPy has no bfloat16.
    array: np.ndarray = (kept if kept.dtype.itemsize != 2 or not kept.is_floating_point() else kept.float()).numpy()
    return array
