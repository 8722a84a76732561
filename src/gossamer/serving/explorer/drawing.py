"""The computation of a model as a graph for people: operators, what they pass on, and where each is drawn.

The graph is that of `gossamer export --to onnx`, so that what is seen is what other tools run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.layering import layered
from gossamer.serving.explorer.tensors import stored_arrays
from gossamer.serving.export.graph import Graph, Node, Port
from gossamer.serving.export.onnx_file import draw_graph
from gossamer.serving.export.shapes import infer_shapes

MOST_BOXES = 400  # of one part, more than anybody reads; loops are written out in graphs, and some have thousands
FEW = 4  # numbers that are written out instead of described


@dataclass(frozen=True)
class Constant:
    """An operand that is part of the model: `text` where it is a few numbers; its layer and weight where it is one.

    `is_turned` says that it is the weight with its axes exchanged.
    """

    name: str
    shape: list[int]
    dtype: str
    text: str
    layer: str
    weight: str
    is_turned: bool
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Box:
    """One operator, or one end of the graph (`role` is "input" or "output"), at column `x` of row `y`.

    The role "earlier" is that of an operator of an earlier part, which passes something on to this one.
    """

    number: int
    role: str
    kind: str
    attributes: dict[str, str]
    constants: list[Constant]
    x: float
    y: int


@dataclass(frozen=True)
class Arrow:
    """What one box passes to another, by way of places (x, y) in the rows between them; `shape` where it is known."""

    source: int
    target: int
    name: str
    shape: str
    path: list[tuple[float, int]]


@dataclass(frozen=True)
class Drawing:
    """Boxes and arrows of a part of a graph, in a field of `width` columns and `height` rows.

    The graph has `total` boxes in `num_parts` parts; those of this part begin with number `first`.
    """

    answers: str
    total: int
    num_parts: int
    first: int
    boxes: list[Box]
    arrows: list[Arrow]
    width: float
    height: int


def draw(estimator: Any, part: int = 0) -> Drawing:
    """Return a part of the drawing of a fitted model; a NotFound, with the reason, where it has no graph or part."""
    try:
        graph = draw_graph(estimator)
    except ValueError as error:
        raise NotFound(f"This model has no graph: {error}.") from None
    every: list[Port | Node] = [*graph.inputs, *graph.nodes]  # in an order in which they can be computed
    num_parts = max(1, -(-len(every) // MOST_BOXES))
    if part >= num_parts:
        raise NotFound(f"There is no part {part} of this graph; it has {num_parts}, from 0 on.")
    first, end = part * MOST_BOXES, min((part + 1) * MOST_BOXES, len(every))
    into = [arrow for arrow in _arrows(graph) if first <= arrow[1] < end]
    earlier = sorted({source for source, _, _ in into if source < first})
    drawn = {place: number for number, place in enumerate([*earlier, *range(first, end)])}
    arrows = [(drawn[source], drawn[target], name) for source, target, name in into]
    places, paths = layered(len(drawn), [(source, target) for source, target, _ in arrows])
    shapes = {name: " × ".join(map(str, shape)) for name, shape in infer_shapes(graph).items()}
    weights = _weights_by_content(estimator)
    outputs = {port.name: port for port in graph.outputs}
    boxes = [
        _box(number, every[place], graph, weights, outputs, places[number], is_earlier=place < first)
        for place, number in drawn.items()
    ]
    return Drawing(
        answers=graph.answers,
        total=len(every),
        num_parts=num_parts,
        first=first,
        boxes=boxes,
        arrows=[
            Arrow(source, target, name, shapes.get(name, ""), path)
            for (source, target, name), path in zip(arrows, paths, strict=True)
        ],
        width=max((x for x, _ in [*places, *(place for path in paths for place in path)]), default=0) + 1,
        height=max((y for _, y in places), default=0) + 1,
    )


def _arrows(graph: Graph) -> Iterator[tuple[int, int, str]]:
    made = {port.name: number for number, port in enumerate(graph.inputs)}
    for number, node in enumerate(graph.nodes, len(graph.inputs)):
        made |= dict.fromkeys(node.outputs, number)
    for number, node in enumerate(graph.nodes, len(graph.inputs)):
        for name in dict.fromkeys(node.inputs):
            if name in made:
                yield made[name], number, name


def _box(
    number: int,
    one: Port | Node,
    graph: Graph,
    weights: dict[Any, tuple[str, str, bool]],
    outputs: dict[str, Port],
    place: tuple[float, int],
    *,
    is_earlier: bool,
) -> Box:
    if is_earlier:
        return Box(number, "earlier", one.name if isinstance(one, Port) else one.kind, {}, [], *place)
    if isinstance(one, Port):
        return Box(number, "input", one.name, _end(one), [], *place)
    port = outputs.get(one.outputs[0])
    if port is not None:
        return Box(number, "output", port.name, _end(port), [], *place)
    constants = [_constant(name, graph.constants[name], weights) for name in one.inputs if name in graph.constants]
    attributes = {name: str(value) for name, value in one.attributes.items()}
    return Box(number, "", one.kind, attributes, constants, *place)


def _end(port: Port) -> dict[str, str]:
    return {"shape": " × ".join(map(str, port.shape)), "type": str(port.dtype)}


def _constant(name: str, array: np.ndarray, weights: dict[Any, tuple[str, str, bool]]) -> Constant:
    layer, weight, is_turned = weights.get(_content(array), ("", "", False)) if array.size > FEW else ("", "", False)
    is_described = array.size > 0 and array.dtype.kind in "fiu"
    text = ", ".join(f"{value:g}" for value in array.ravel().astype(np.float64)) if array.size <= FEW else ""
    return Constant(
        name=name,
        shape=list(array.shape),
        dtype=str(array.dtype),
        text=f"[{text}]" if text and array.ndim else text,
        layer=layer,
        weight=weight,
        is_turned=is_turned,
        low=_finite(array.min()) if is_described else None,
        high=_finite(array.max()) if is_described else None,
    )


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _weights_by_content(estimator: Any) -> dict[Any, tuple[str, str, bool]]:
    """Return where each stored array is, by its numbers: graphs hold copies, often with their axes exchanged."""
    found: dict[Any, tuple[str, str, bool]] = {}
    for layer, weight, array in stored_arrays(estimator):
        if array.dtype.kind not in "fiu" or array.size <= FEW:
            continue
        kept = array.astype(np.float32) if array.dtype.kind == "f" else array
        found.setdefault(_content(kept), (layer, weight, False))
        if kept.ndim == 2:
            found.setdefault(_content(kept.T), (layer, weight, True))
    return found


def _content(array: np.ndarray) -> tuple[Any, ...]:
    return array.shape, str(array.dtype), hash(np.ascontiguousarray(array).tobytes())
