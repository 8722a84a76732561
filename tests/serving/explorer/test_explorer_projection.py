"""Maps: components by definition, neighbours that stay together, the same picture every time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.serving.explorer.projection import (
    nearest_rows,
    neighbour_layout,
    principal_components,
    principal_plane,
    project,
    sketch,
    tsne_layout,
    variance_shares,
)


def blobs(size: int = 40) -> np.ndarray:
    generator = np.random.default_rng(0)
    centres = np.array([[5.0, 0, 0, 0], [0, 5.0, 0, 0], [0, 0, 5.0, 0]])
    return (centres[:, None] + 0.3 * generator.standard_normal((3, size, 4))).reshape(-1, 4)


def test_components_are_those_of_the_singular_value_decomposition():
    vectors = np.random.default_rng(1).standard_normal((30, 5))
    centred = vectors - vectors.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(principal_plane(vectors)), np.abs(left[:, :2] * values[:2]), rtol=1e-4, atol=1e-5)


def test_variances_are_those_of_the_singular_values_and_absent_components_have_none():
    vectors = np.random.default_rng(1).standard_normal((30, 3)).astype(np.float32)
    values = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False) ** 2
    found = variance_shares(vectors, principal_components(vectors, 5))
    np.testing.assert_allclose(found, [*(values / values.sum()), 0, 0], atol=1e-5)
    assert variance_shares(np.ones((4, 2)), principal_components(np.ones((4, 2)), 2)) == [0, 0]


def test_few_rows_of_many_columns_take_the_other_way_to_the_same_answer():
    vectors = np.random.default_rng(2).standard_normal((6, 50))
    padded = np.vstack([vectors, vectors.mean(axis=0, keepdims=True)])
    np.testing.assert_allclose(principal_plane(padded)[:6], principal_plane(vectors), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (5, 0), (3, 2)])
def test_small_shapes_have_two_finite_columns(shape):
    plane = principal_plane(np.ones(shape))
    assert plane.shape == (shape[0], 2)
    assert (plane == 0).all()


def test_nearest_rows_are_those_of_brute_force():
    vectors = np.random.default_rng(3).standard_normal((25, 6))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T - 2 * np.eye(25)
    expected = np.argsort(-cosines, axis=1)[:, :4]
    assert [set(row) for row in nearest_rows(vectors, 4)] == [set(row) for row in expected]


def test_layout_keeps_groups_apart_and_is_always_the_same():
    places = neighbour_layout(blobs())
    assert np.isfinite(places).all()
    middles = places.reshape(3, 40, 2).mean(axis=1)
    spread = places.reshape(3, 40, 2).std(axis=1).mean()
    gaps = [np.linalg.norm(middles[one] - middles[other]) for one, other in ((0, 1), (0, 2), (1, 2))]
    assert min(gaps) > 2 * spread
    np.testing.assert_array_equal(places, neighbour_layout(blobs()))


@pytest.mark.parametrize("num_axes", [2, 3])
def test_t_sne_keeps_groups_apart_and_is_always_the_same(num_axes):
    places = tsne_layout(blobs(), num_axes)
    assert np.isfinite(places).all()
    near = np.linalg.norm(places[:, None] - places, axis=2) + 1e9 * np.eye(len(places))
    assert (near.argmin(axis=1) // 40 == np.arange(120) // 40).mean() > 0.95
    np.testing.assert_array_equal(places, tsne_layout(blobs(), num_axes))


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 9])
def test_t_sne_of_few_or_equal_rows_is_finite(rows):
    for vectors in (np.ones((rows, 3)), np.zeros((rows, 3)), np.eye(rows)):
        places = tsne_layout(vectors)
        assert places.shape == (rows, 2)
        assert np.isfinite(places).all()


def test_a_sketch_keeps_products():
    matrix = np.random.default_rng(4).standard_normal((40, 3)) @ np.random.default_rng(5).standard_normal((3, 90))
    for wide in (matrix, sparse.csr_array(matrix)):
        narrow = sketch(wide, 8)
        assert narrow.shape == (40, 8)
        np.testing.assert_allclose(narrow @ narrow.T, matrix @ matrix.T, rtol=1e-3, atol=1e-3)


def test_projections_by_name():
    assert project(blobs(), "pca").shape == (120, 2)
    assert project(np.random.default_rng(6).standard_normal((50, 200)), "neighbours").shape == (50, 2)
    assert project(blobs(), "neighbours", 3).shape == (120, 3)
    with pytest.raises(ValueError, match="projection must be"):
        project(blobs(), "magic")
