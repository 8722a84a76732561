"""Where names lie: one vector per item, word or user, found by what a model offers, and what is near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gossamer.core.topk import top_n
from gossamer.data.vocabulary import Vocabulary
from gossamer.serving.explorer.finding import tables_of
from gossamer.serving.explorer.groups import Groups
from gossamer.serving.explorer.projection import sketch, unit_rows


@dataclass(frozen=True, eq=False)
class Space:
    """One vector (V, D) per name of the vocabulary `kind`, and in words what they are.

    `votes` (V, V), where an item model has them, say what each name speaks for: they are its neighbours then.
    """

    kind: str
    meaning: str
    vectors: np.ndarray
    votes: np.ndarray | sparse.csr_array | None = None

    @property
    def measure(self) -> str:
        """What the numbers beside neighbours are."""
        return "cosine" if self.votes is None else "weight"

    @cached_property
    def _unit(self) -> np.ndarray:
        return unit_rows(self.vectors)

    def nearest(self, index: int, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Return the names nearest to one, and how near; without itself, and of votes only those above 0."""
        if self.votes is None:
            scores = self._unit @ self._unit[index]
        else:
            row = self.votes[[index]]
            scores = np.array(row if isinstance(row, np.ndarray) else row.toarray(), dtype=np.float32)[0]
        scores[index] = -np.inf
        items, found = top_n(scores[None, :].astype(np.float32), n)
        keep = (items[0] >= 0) & ((found[0] > 0) | (self.votes is None))
        return items[0][keep], found[0][keep]


def find_spaces(estimator: Any, vocabularies: Mapping[str, Vocabulary], groups: Sequence[Groups]) -> dict[str, Space]:
    """Return the best space of each vocabulary: learned vectors, votes between items, or what groups do to names."""
    spaces: dict[str, Space] = {}
    for kind, vocabulary in vocabularies.items():
        vectors = _own_vectors(estimator, kind, len(vocabulary))
        if vectors is not None:
            spaces[kind] = Space(kind, f"the vectors that the model has learned for {kind}", vectors)
    for kind, table in tables_of(estimator, vocabularies):
        if kind not in spaces:
            spaces[kind] = Space(kind, f"the model's table of {kind}", table.weight.detach().cpu().numpy())
    votes = getattr(estimator, "weights_", None)
    size = len(vocabularies.get("items", ()))
    if "items" not in spaces and getattr(votes, "shape", None) == (size, size):
        meaning = "what each item adds to the scores of all others"
        spaces["items"] = Space("items", meaning, sketch(votes), votes)  # type: ignore[arg-type]
    for one in groups:
        if one.kind not in spaces:
            dense = one.weights if isinstance(one.weights, np.ndarray) else sketch(one.weights)
            spaces[one.kind] = Space(one.kind, f"how strongly {one.kind} belong to each {one.noun}", dense)
    return {kind: space for kind, space in spaces.items() if space.vectors.shape[1] > 0}


def _own_vectors(estimator: Any, kind: str, count: int) -> np.ndarray | None:
    """Return learned state such as `item_vectors_` that has a row per name."""
    singular = kind.removesuffix("s")
    for suffix in ("vectors_", "factors_", "rows_"):
        found = getattr(estimator, f"{singular}_{suffix}", None)
        if found is not None and len(found) == count:
            vectors = found.detach().cpu().numpy() if hasattr(found, "detach") else np.asarray(found)
            # Rows of ratings begin with a bias, which says how liked a thing is and not what it is like.
            return vectors[:, 1:] if suffix == "rows_" else vectors
    return None
