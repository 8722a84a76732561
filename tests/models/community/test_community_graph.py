"""The graph has the edges of the data, both ways, and the items that share most users."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.data.interactions import Interactions
from gossamer.models.community.graph import BipartiteGraph, Edges, co_occurrence, edge_weights

DAY = 86_400


def test_edges_are_the_pairs_from_both_sides() -> None:
    data = Interactions.from_pairs(["a", "a", "b"], ["x", "y", "y"], rating=[2.0, 3.0, 4.0], time=[5, 1, 7])
    graph = BipartiteGraph.from_interactions(data, weighted=True, item_edges=2)
    assert graph.num_users == graph.num_items == 2
    assert graph.item_users.indptr.tolist() == [0, 1, 3]
    assert graph.item_users.indices.tolist() == [0, 0, 1]
    assert graph.item_users.weights is not None
    assert graph.item_users.weights.tolist() == [2.0, 3.0, 4.0]
    assert graph.user_items.cumulative is not None
    assert graph.user_items.cumulative.tolist() == [2.0, 5.0, 4.0]
    assert graph.time_order is not None
    assert graph.time_order.tolist() == [1, 0, 0]
    assert graph.item_items.degrees.tolist() == [1, 1]


def test_duplicate_pairs_are_one_edge() -> None:
    data = Interactions.from_pairs(["a", "a", "a"], ["x", "x", "y"], time=[1, 2, 3])
    graph = BipartiteGraph.from_interactions(data)
    assert graph.user_items.degrees.tolist() == [2]
    assert graph.item_users.degrees.tolist() == [1, 1]
    with pytest.raises(ValueError, match="duplicate"):
        Interactions.from_pairs(["a", "a"], ["x", "x"], duplicates="error")


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 6))
def test_co_occurrence_is_the_cosine_of_columns(seed: int, count: int) -> None:
    matrix = np.random.default_rng(seed).random((9, 7)) < 0.4
    _, items = np.nonzero(matrix)
    edges = Edges(np.concatenate([[0], np.cumsum(matrix.sum(axis=1))]), items.astype(np.int32))
    joined = co_occurrence(edges, edges.reversed(7), count)
    common = matrix.T.astype(float) @ matrix
    sizes = np.maximum(matrix.sum(axis=0), 1)
    cosine = common / np.sqrt(np.outer(sizes, sizes))
    np.fill_diagonal(cosine, 0)
    for item in range(7):
        part = slice(joined.indptr[item], joined.indptr[item + 1])
        best = [other for other in np.lexsort((np.arange(7), -cosine[item].astype(np.float32))) if cosine[item, other]]
        assert joined.indices[part].tolist() == sorted(best[:count])
        assert joined.weights is not None
        np.testing.assert_allclose(joined.weights[part], cosine[item, joined.indices[part]], rtol=1e-6)


def test_weights_halve_with_age() -> None:
    data = Interactions.from_pairs(["a"] * 3, ["x", "y", "z"], rating=[1.0, 1.0, 2.0], time=[0, DAY, 2 * DAY])
    weights = edge_weights(data, False, 1.0)
    assert weights is not None
    np.testing.assert_allclose(weights, [0.25, 0.5, 1.0])
    weights = edge_weights(data, True, 1.0)
    assert weights is not None
    np.testing.assert_allclose(weights, [0.25, 0.5, 2.0])
    assert edge_weights(data, False, None) is None


def test_weights_that_cannot_be_are_refused() -> None:
    data = Interactions.from_pairs(["a"], ["x"])
    with pytest.raises(ValueError, match="weighted must be False where data has no rating, got True"):
        edge_weights(data, True, None)
    with pytest.raises(ValueError, match=r"half_life_days must be None where data has no times, got 3"):
        edge_weights(data, False, 3.0)
    with pytest.raises(ValueError, match=r"rating must be >= 0 to count as a weight, got -1.0"):
        edge_weights(Interactions.from_pairs(["a"], ["x"], rating=[-1.0]), True, None)
