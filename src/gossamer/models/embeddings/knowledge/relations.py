"""Domain knowledge (section 3.2): which objects are related, so what T keeps for free and what must not be shared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Int64
from scipy import sparse

from gossamer import datasets
from gossamer.core.checks import check_choice
from gossamer.data import Interactions, Sentences, Vocabulary
from gossamer.models.embeddings.knowledge.cooccurrence import WINDOW, count_items_together, count_words_together

WORDNET_RELATIONS = ("hypernym", "hyponym", "synonym", "antonym")
Edges = Iterable[tuple[str, str]] | Iterable[tuple[int, int]] | pl.DataFrame


@dataclass(frozen=True, eq=False)
class Relations:
    """The graph G: a symmetric boolean matrix (V, V), sparse, without loops; related pairs are positive pairs.

    >>> graph = Relations.from_edges([("tea", "cup")], Vocabulary(["jam", "cup", "tea"]))
    >>> graph.are_related([1, 1], [2, 0]).tolist()
    [True, False]
    """

    pairs: sparse.csr_array

    def __post_init__(self) -> None:
        pairs = sparse.csr_array(self.pairs)
        if pairs.shape[0] != pairs.shape[1]:
            raise ValueError(f"pairs must be a square matrix over all objects, got shape {pairs.shape}")
        entries = pairs.tocoo()
        keep = (entries.data != 0) & (entries.row != entries.col)
        row, column = entries.row[keep], entries.col[keep]
        where = (np.concatenate([row, column]), np.concatenate([column, row]))
        symmetric = sparse.csr_array((np.ones(len(where[0]), dtype=bool), where), shape=pairs.shape)
        symmetric.sum_duplicates()
        for array in (symmetric.data, symmetric.indices, symmetric.indptr):
            array.setflags(write=False)
        object.__setattr__(self, "pairs", symmetric)

    @classmethod
    def from_edges(cls, edges: Edges, vocabulary: Vocabulary, *, unknown: str = "error") -> Relations:
        """Return the graph of (id, id) pairs, or of the first two columns of a table.

        An id outside the vocabulary is an error that names it; `unknown="drop"` leaves its edges out, which is right
        for public lists that know more words than the data has.
        """
        check_choice("unknown", unknown, ("error", "drop"))
        table = edges if isinstance(edges, pl.DataFrame) else _as_table(edges)
        if table.width < 2:
            raise ValueError(f"edges must have two columns of ids, got {table.width}")
        first, second = (vocabulary.find(table.to_series(column)) for column in (0, 1))
        known = (first >= 0) & (second >= 0)
        if unknown == "error" and not known.all():
            edge = int(known.argmin())
            stranger = table[edge, 0 if first[edge] < 0 else 1]
            raise ValueError(
                f"edges must name ids of the vocabulary, got {stranger!r} in edge {edge}; "
                "unknown='drop' leaves such edges out"
            )
        where = (first[known], second[known])
        size = len(vocabulary)
        return cls(sparse.csr_array((np.ones(len(where[0]), dtype=bool), where), shape=(size, size)))

    @classmethod
    def from_wordnet(cls, vocabulary: Vocabulary, *, relations: Sequence[str] = WORDNET_RELATIONS) -> Relations:
        """Return WordNet's immediate relations between words of the vocabulary, as they are written there.

        Words of several parts match only if the vocabulary joins them by underscores too; inflected words are not
        reduced to their stems.
        """
        if vocabulary.is_integer:
            raise ValueError(f"vocabulary must consist of words for WordNet, got integers such as {vocabulary[0]}")
        table = datasets.load("wordnet", relations=relations).select("word", "other")
        return cls.from_edges(table, vocabulary, unknown="drop")

    @classmethod
    def from_cooccurrence(
        cls, data: Sentences | Interactions, *, window: int = WINDOW, min_count: int = 1
    ) -> Relations:
        """Relate words that stand within `window` places at least `min_count` times, or items that share users.

        The paper relates whatever co-occurs once; then nearly every word is related to the most frequent ones.
        """
        if isinstance(data, Sentences):
            return cls(count_words_together(data, window=window, min_count=min_count))
        if isinstance(data, Interactions):
            return cls(count_items_together(data, min_count=min_count))
        raise ValueError(f"data must be Sentences or Interactions, got {type(data).__name__}")

    @property
    def num_objects(self) -> int:
        """V, the number of objects, related or not."""
        return int(self.pairs.shape[0])

    def __len__(self) -> int:
        return int(self.pairs.nnz) // 2

    def __repr__(self) -> str:
        return f"Relations({self.num_objects:,} objects, {len(self):,} related pairs)"

    def __or__(self, other: Relations) -> Relations:
        """Return the pairs related in either graph."""
        if other.num_objects != self.num_objects:
            raise ValueError(f"relations must be over the same {self.num_objects} objects, got {other.num_objects}")
        return Relations(self.pairs + other.pairs)

    def are_related(self, first: Sequence[int] | np.ndarray, second: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return whether first[i] and second[i] are related, for object numbers."""
        if len(first) == 0:  # which scipy refuses
            return np.zeros(0, dtype=bool)
        # Copies, because scipy wants arrays that it may mark as writeable, and torch's views are not.
        return np.asarray(self.pairs[np.array(first), np.array(second)], dtype=bool)

    def describe(self) -> dict[str, Any]:
        """Return the numbers a person wants to see first."""
        degrees = np.diff(self.pairs.indptr)
        return {
            "objects": self.num_objects,
            "related_pairs": len(self),
            "objects_with_relations": int(np.count_nonzero(degrees)),
            "median_relations": float(np.median(degrees)) if len(degrees) else 0.0,
            "most_relations": int(degrees.max(initial=0)),
        }


def free_entries(relations: Relations, anchor_ids: Int64[np.ndarray, " K"]) -> sparse.csr_array:
    """Return 1 − S(G) of equation 4 as a sparse boolean (V, K): the entries of T that the ℓ₁ penalty leaves alone.

    Entry (u, k) is there if object u is related to the object behind anchor k, or is that object.
    """
    anchor_ids = np.asarray(anchor_ids, dtype=np.int64)
    size = relations.num_objects
    if len(anchor_ids) and not 0 <= anchor_ids.min() <= anchor_ids.max() < size:
        raise ValueError(f"anchor_ids must be from 0 to {size - 1}, got {anchor_ids.min()} to {anchor_ids.max()}")
    own = sparse.csr_array(
        (np.ones(len(anchor_ids), dtype=bool), (anchor_ids, np.arange(len(anchor_ids)))),
        shape=(size, len(anchor_ids)),
    )
    free = (relations.pairs[:, anchor_ids] + own).astype(bool)
    free.sort_indices()
    return free


def _as_table(edges: Iterable[Any]) -> pl.DataFrame:
    pairs = list(edges)
    wrong = next((pair for pair in pairs if isinstance(pair, str) or len(pair) != 2), None)
    if wrong is not None:
        raise ValueError(f"edges must be pairs of ids, got {wrong!r}")
    first: list[Any] = [pair[0] for pair in pairs]
    second: list[Any] = [pair[1] for pair in pairs]
    return pl.DataFrame({"first": first, "second": second}, strict=False)
