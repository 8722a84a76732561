"""Neighbours of many nodes as one ragged list, whole or sampled, with a weight for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gossamer.data.interactions import Interactions
from gossamer.data.splits.parts import ranks_in_rows
from gossamer.models.community.graph import Edges
from gossamer.models.community.sampling import sample_neighbours


@dataclass(frozen=True)
class Neighbours:
    """Node b has the neighbours `indices[offsets[b] : offsets[b + 1]]`.

    `weights` say how much each counts in a mean (None: all alike), `recent` how much in the mean of what came last.
    """

    offsets: Int[Tensor, " B1"]
    indices: Int[Tensor, " E"]
    weights: Float[Tensor, " E"] | None = None
    recent: Float[Tensor, " E"] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self) -> Int[Tensor, " E"]:
        """Return the node that each neighbour belongs to."""
        return torch.repeat_interleave(torch.arange(len(self)), self.offsets[1:] - self.offsets[:-1])

    def numbered(self) -> tuple[Int[Tensor, " n"], Neighbours]:
        """Return the different neighbours, and the same neighbourhoods with these numbered from 0."""
        different, places = np.unique(self.indices.numpy(), return_inverse=True)
        return torch.from_numpy(different), Neighbours(
            self.offsets, torch.from_numpy(places), self.weights, self.recent
        )


def of_arrays(
    offsets: np.ndarray, indices: np.ndarray, weights: np.ndarray | None = None, recent: np.ndarray | None = None
) -> Neighbours:
    """Return neighbours from NumPy arrays, in the types that torch wants."""
    return Neighbours(
        _tensor(offsets, np.int64),
        _tensor(indices, np.int64),
        None if weights is None else _tensor(weights, np.float32),
        None if recent is None else _tensor(recent, np.float32),
    )


def _tensor(values: np.ndarray, dtype: type[np.generic]) -> Tensor:
    array = np.ascontiguousarray(values, dtype=dtype)
    return torch.from_numpy(
        array if array.flags.writeable else array.copy()
    )  # containers are read-only, torch cannot be


def all_neighbours(
    edges: Edges,
    rows: Int[np.ndarray, " B"],
    *,
    time_order: Int[np.ndarray, " Z"] | None = None,
    half_life: float | None = None,
) -> Neighbours:
    """Return every neighbour of the rows; with ranks in time and a half-life, also how recent each is."""
    counts = edges.indptr[rows + 1] - edges.indptr[rows]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    places = np.repeat(edges.indptr[rows] - offsets[:-1], counts) + np.arange(offsets[-1])
    weights = None if edges.weights is None else edges.weights[places]
    recent = None
    if half_life is not None and time_order is not None:
        recent = recent_weights(time_order[places], np.repeat(counts, counts), half_life)
    return of_arrays(offsets, edges.indices[places], weights, recent)


def some_neighbours(
    edges: Edges, rows: Int[np.ndarray, " B"], count: int, *, seed: int, excluded: Int[np.ndarray, " X"] | None = None
) -> Neighbours:
    """Return at most `count` neighbours of the rows, by weight where edges have weights, without the excluded ones."""
    drawn = sample_neighbours(
        edges.indptr, edges.indices, rows, count, seed=seed, cumulative=edges.cumulative, excluded=excluded
    )
    is_there = drawn >= 0
    offsets = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))])
    return of_arrays(offsets, drawn[is_there])


def recent_weights(ranks: Int[np.ndarray, " E"], lengths: Int[np.ndarray, " E"], half_life: float) -> np.ndarray:
    """Return ½^(how many came later / half-life), for ranks 0 … length − 1 in time.

    >>> recent_weights(np.array([0, 1, 2]), np.array([3, 3, 3]), 1.0)
    array([0.25, 0.5 , 1.  ])
    """
    weights: np.ndarray = np.exp2(np.maximum((ranks - (lengths - 1)) / half_life, -60.0))
    return weights


def history_neighbours(history: Interactions, weights: np.ndarray | None, half_life: float | None) -> Neighbours:
    """Return the items of users' histories; without times everything is equally recent."""
    recent = None
    if half_life is not None and history.time is not None:
        ranks = ranks_in_rows(history, history.time)
        recent = recent_weights(ranks, np.repeat(history.user_counts, history.user_counts), half_life)
    return of_arrays(history.indptr, history.indices, weights, recent)
