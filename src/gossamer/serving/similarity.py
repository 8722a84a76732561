"""What is near an item, by the model's own weights between items or by the directions of its vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32

from gossamer.core.protocols import ItemGraph
from gossamer.core.topk import top_n
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.loading import LoadedModel
from gossamer.serving.names import Id


def similar(model: LoadedModel, item: Id, n: int = 10) -> dict[str, Any]:
    """Return the n items nearest to `item`, nearest first: by weight, where above 0, or by cosine."""
    if "similar" not in model.questions or model.names is None:
        raise CannotAnswer(
            f"the model must have vectors or weights of items, which {model.name!r} ({model.kind}) does not have"
        )
    place = model.names.find(item)
    if place < 0:
        raise NotFound(f"item must be one of the {len(model.names)} that {model.name!r} knows, got {item!r:.120}")
    is_graph = isinstance(model.estimator, ItemGraph)
    scores = model.estimator.item_weights(place) if is_graph else _cosines(model, place)
    scores[place] = -np.inf
    best, values = top_n(scores[None, :], min(n, len(model.names)))
    found = zip(best[0].tolist(), values[0].tolist(), strict=True)
    near = [(other, score) for other, score in found if other >= 0 and (score > 0 or not is_graph)]
    return {
        "model": model.name,
        "item": model.names[place],
        "measure": "weight" if is_graph else "cosine",
        "items": [{"item": model.names[other], "score": score} for other, score in near],
    }


def _cosines(model: LoadedModel, place: int) -> Float32[np.ndarray, " M"]:
    """Return the cosine of every item's vector with one's; 0 where either is zero."""
    lengths = np.maximum(model.norms * model.norms[place], np.finfo(np.float32).tiny)
    return np.asarray(model.vectors @ model.vectors[place] / lengths, dtype=np.float32)
