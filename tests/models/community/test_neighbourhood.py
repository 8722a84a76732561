"""Ragged neighbourhoods: whole, sampled, and weighted by how recent they are."""

from __future__ import annotations

import numpy as np

from gossamer.data.interactions import Interactions
from gossamer.models.community.graph import Edges
from gossamer.models.community.neighbourhood import all_neighbours, history_neighbours, recent_weights, some_neighbours

EDGES = Edges(np.array([0, 2, 2, 5]), np.array([1, 3, 0, 2, 4], dtype=np.int32))


def test_all_neighbours_are_those_of_the_rows_in_their_order() -> None:
    found = all_neighbours(EDGES, np.array([2, 1, 0]))
    assert found.offsets.tolist() == [0, 3, 3, 5]
    assert found.indices.tolist() == [0, 2, 4, 1, 3]
    assert found.rows().tolist() == [0, 0, 0, 2, 2]
    weighted = Edges(EDGES.indptr, EDGES.indices, np.arange(5, dtype=np.float32))
    weights = all_neighbours(weighted, np.array([2])).weights
    assert weights is not None
    assert weights.tolist() == [2, 3, 4]
    different, numbered = all_neighbours(weighted, np.array([2, 2])).numbered()
    assert different.tolist() == [0, 2, 4]
    assert numbered.indices.tolist() == [0, 1, 2, 0, 1, 2]
    assert numbered.weights is not None
    assert numbered.weights.tolist() == [2, 3, 4, 2, 3, 4]


def test_some_neighbours_leave_out_the_excluded() -> None:
    found = some_neighbours(EDGES, np.array([0, 2]), 2, seed=0, excluded=np.array([1, 4]))
    assert found.offsets.tolist() == [0, 1, 3]
    assert sorted(found.indices.tolist()) == [0, 2, 3]


def test_what_came_last_counts_most() -> None:
    history = Interactions.from_pairs(["a", "a", "a", "b"], [0, 1, 2, 0], time=[5, 9, 1, 3])
    recent = history_neighbours(history, None, 1.0).recent
    assert recent is not None
    assert recent.tolist() == [0.5, 1.0, 0.25, 1.0]
    assert history_neighbours(history, None, None).recent is None
    assert recent_weights(np.array([0]), np.array([10_000]), 1.0)[0] > 0
