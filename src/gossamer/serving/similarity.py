"""What is near an item, by the model's own weights between items or by the directions of its vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Int

from gossamer.core.protocols import ItemGraph
from gossamer.core.topk import batch_rows, top_n
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.loading import LoadedModel
from gossamer.serving.names import Id

SPARE = 16  # more than are asked for are looked at, because at the end of a list, too, some may be equally near


@dataclass(frozen=True)
class Near:
    """A question for what is near the item at `place`."""

    place: int
    n: int


def look_up(model: LoadedModel, item: Id, n: int = 10) -> Near:
    """Find the item, or say that the model does not know it, or nothing of what is near."""
    if "similar" not in model.questions or model.names is None:
        raise CannotAnswer(
            f"the model must have vectors or weights of items, which {model.name!r} ({model.kind}) does not have"
        )
    place = model.names.find(item)
    if place < 0:
        raise NotFound(f"item must be one of the {len(model.names)} that {model.name!r} knows, got {item!r:.120}")
    return Near(place, n)


def similar(model: LoadedModel, item: Id, n: int = 10) -> dict[str, Any]:
    """Return the n items nearest to `item`, nearest first: by weight, where above 0, or by cosine."""
    return similar_all(model, [look_up(model, item, n)])[0]


def similar_all(model: LoadedModel, questions: Sequence[Near]) -> list[dict[str, Any]]:
    """Answer all questions to one model: the same item once, and as many as memory allows by one product."""
    assert model.names is not None
    together = batch_rows(len(model.names))
    return [
        answer
        for first in range(0, len(questions), together)
        for answer in _answer_together(model, questions[first : first + together])
    ]


def _answer_together(model: LoadedModel, questions: Sequence[Near]) -> list[dict[str, Any]]:
    assert model.names is not None
    places, rows = np.unique([question.place for question in questions], return_inverse=True)
    is_graph = isinstance(model.estimator, ItemGraph)
    wanted = max(question.n for question in questions)
    if is_graph:
        scores = np.stack([model.estimator.item_weights(int(place)) for place in places])
    else:
        scores = _cosines(model, places)
        wanted += SPARE
    scores[np.arange(len(places)), places] = -np.inf
    best, values = top_n(scores, min(wanted, len(model.names)))
    if not is_graph:
        best, values = _in_exact_order(model, places, best)
    items, found = best.tolist(), values.tolist()
    return [
        _answer(model, question, is_graph, zip(items[row][: question.n], found[row][: question.n], strict=True))
        for question, row in zip(questions, rows.tolist(), strict=True)
    ]


def _answer(model: LoadedModel, question: Near, is_graph: bool, found: Iterable[tuple[int, float]]) -> dict[str, Any]:
    assert model.names is not None
    near = [(other, score) for other, score in found if other >= 0 and (score > 0 or not is_graph)]
    return {
        "model": model.name,
        "item": model.names[question.place],
        "measure": "weight" if is_graph else "cosine",
        "items": [{"item": model.names[other], "score": score} for other, score in near],
    }


def _in_exact_order(
    model: LoadedModel, places: Int[np.ndarray, " B"], best: Int[np.ndarray, "B n"]
) -> tuple[Int[np.ndarray, "B n"], Float32[np.ndarray, "B n"]]:
    """Order the best by cosines of double precision, rounded to single, and equal ones by their places.

    How a product of matrices rounds depends on how many rows it has. Items that are equally near, or nearly so, would
    come in one order alone and in another with other questions.
    """
    order, cosines = best.copy(), np.full(best.shape, -np.inf, dtype=np.float32)
    for row, place in enumerate(places.tolist()):
        found = best[row][best[row] >= 0]
        near, vector = model.vectors[found].astype(np.float64), model.vectors[place].astype(np.float64)
        lengths = np.sqrt((near * near).sum(axis=1) * (vector * vector).sum())
        exact = ((near * vector).sum(axis=1) / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)
        sequence = np.lexsort((found, -exact))
        order[row, : len(found)], cosines[row, : len(found)] = found[sequence], exact[sequence]
    return order, cosines


def _cosines(model: LoadedModel, places: Int[np.ndarray, " B"]) -> Float32[np.ndarray, "B M"]:
    """Return the cosines of every item's vector with those at `places`; 0 where either is zero."""
    lengths = np.maximum(model.norms[places, None] * model.norms, np.finfo(np.float32).tiny)
    return np.asarray(model.vectors[places] @ model.vectors.T / lengths, dtype=np.float32)
