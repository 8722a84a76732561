"""Neighbours: cosines by definition, votes of an item model, and a space for every kind that has one."""

from __future__ import annotations

import numpy as np
import pytest
from explorer_samples import FRUIT

from gossamer.serving.explorer.vectors import Space, find_spaces

SPACES = {
    "als": {"items"},
    "ease": {"items"},
    "anchors": {"items", "users"},
    "communities": {"items", "users"},
    "topics": {"terms"},
    "codes": {"terms"},
    "phases": {"events"},
    "index": {"names"},
    "network": set(),
}


@pytest.mark.parametrize("name", SPACES)
def test_spaces_of_each_model(known, name):
    spaces = known[name].spaces
    assert set(spaces) == SPACES[name]
    for kind, space in spaces.items():
        assert len(space.vectors) == len(known[name].vocabularies[kind])
        assert np.isfinite(space.vectors).all()


def test_nearest_by_cosine_is_brute_force():
    vectors = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
    space = Space("items", "", vectors)
    items, scores = space.nearest(7, 5)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[7]
    cosines[7] = -np.inf
    assert items.tolist() == np.argsort(-cosines)[:5].tolist()
    np.testing.assert_allclose(scores, cosines[items], rtol=1e-5)
    assert space.measure == "cosine"


def test_nearest_by_distance_is_brute_force_and_the_least_comes_first():
    vectors = np.random.default_rng(1).standard_normal((30, 4)).astype(np.float32)
    items, distances = Space("items", "", vectors).nearest(7, 5, "euclidean")
    expected = np.linalg.norm(vectors - vectors[7], axis=1)
    assert items.tolist() == np.argsort(expected)[1:6].tolist()
    np.testing.assert_allclose(distances, expected[items], rtol=1e-5)


def test_votes_can_be_left_aside_and_other_measures_not_be_made_up(known):
    space = known["ease"].spaces["items"]
    assert space.measures == ("weight", "cosine", "euclidean")
    assert len(space.nearest(0, 19, "cosine")[0]) == 19
    with pytest.raises(ValueError, match="measure must be one of 'cosine', 'euclidean', got 'weight'"):
        known["als"].spaces["items"].nearest(0, 3, "weight")


def test_all_names_are_neighbours_where_there_are_few():
    items, _ = Space("items", "", np.eye(3, dtype=np.float32)).nearest(0, 10)
    assert sorted(items.tolist()) == [1, 2]


def test_votes_are_those_of_the_model_above_zero(known):
    space, weights = known["ease"].spaces["items"], known["ease"].estimator.weights_
    items, scores = space.nearest(0, 20)
    assert space.measure == "weight"
    np.testing.assert_array_equal(scores, weights[0, items])
    assert (scores > 0).all()
    assert set(items) <= set(FRUIT)


@pytest.mark.parametrize("name", ["als", "topics", "phases"])
def test_neighbours_are_of_the_same_half(known, name):
    (space,) = known[name].spaces.values()
    items, _ = space.nearest(0, 5)
    assert set(items) <= set(FRUIT)


def test_item_models_without_a_matrix_are_asked_row_by_row(known):
    class Rows:
        items_ = known["ease"].estimator.items_

        def item_weights(self, item: int) -> np.ndarray:
            return known["ease"].estimator.item_weights(item)

    spaces = find_spaces(Rows(), known["ease"].vocabularies, [])
    np.testing.assert_allclose(spaces["items"].vectors, known["ease"].spaces["items"].vectors, rtol=1e-3, atol=1e-4)
