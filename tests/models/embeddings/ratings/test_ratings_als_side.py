"""One side's equations against sums over ratings, written out with uncertain vectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.models.embeddings.ratings.als_side import Side


def two_sides(biases: bool, seed: int = 0) -> tuple[Side, Side, np.ndarray]:
    """Return users and items with random vectors and covariances, and the ratings (0: none)."""
    generator = np.random.default_rng(seed)
    ratings = np.where(generator.random((7, 5)) < 0.6, generator.normal(size=(7, 5)), 0).astype(np.float32)
    ratings[0, 0] = 1.0
    matrix = sparse.csr_array(ratings)
    sides = [Side(part, 2, 3, 2, biases) for part in (matrix, matrix.T.tocsr())]
    for side in sides:
        side.vectors[:] = generator.normal(size=side.vectors.shape)
        factors = 0.3 * generator.normal(size=side.covariances.shape)
        side.covariances[:] = factors @ factors.transpose(0, 2, 1)
    return sides[0], sides[1], ratings


def sampled_error(side: Side, other: Side, ratings: np.ndarray, num_samples: int = 20_000) -> float:
    """Return the mean squared error over draws of both sides' vectors."""
    generator = np.random.default_rng(1)
    total = 0.0
    for row, column in zip(*np.nonzero(ratings), strict=True):
        x = generator.multivariate_normal(side.vectors[row], side.covariances[row], num_samples)
        y = generator.multivariate_normal(other.vectors[column], other.covariances[column], num_samples)
        width = 2 if side.biases else x.shape[1]
        predicted = np.sum(x[:, :width] * y[:, :width], axis=1)
        if side.biases:
            predicted += x[:, -1] + y[:, -1]
        total += np.square(ratings[row, column] - predicted).mean()
    return total / np.count_nonzero(ratings)


@pytest.mark.parametrize("biases", [False, True])
def test_the_expected_error_is_the_mean_over_draws_of_both_sides(biases: bool):
    users, items, ratings = two_sides(biases)
    users.prior = 2.0 * np.eye(2 + biases)
    equations = users.equations(items, 0.5)
    assert users.expected_error(equations, items, 0.5) == pytest.approx(sampled_error(users, items, ratings), rel=0.02)
    # Seen from the other side it is the same number.
    assert items.expected_error(items.equations(users, 0.5), users, 0.5) == pytest.approx(
        users.expected_error(equations, items, 0.5), rel=1e-4
    )


@pytest.mark.parametrize("biases", [False, True])
def test_free_vectors_are_the_minimum_of_their_equations(biases: bool):
    users, items, _ = two_sides(biases)
    grams, rights = equations = users.equations(items, 0.5)
    users.solve_freely(equations, 0.5)
    np.testing.assert_allclose(np.einsum("vab,vb->va", grams, users.vectors), rights, atol=1e-3)
    np.testing.assert_allclose(users.covariances @ grams, np.tile(0.5 * np.eye(2 + biases), (7, 1, 1)), atol=1e-3)


@pytest.mark.parametrize("biases", [False, True])
def test_codes_lower_the_charged_error_and_are_what_the_vectors_are_made_of(biases: bool):
    users, items, _ = two_sides(biases)
    users.solve_freely(users.equations(items, 0.5), 0.5)
    users.choose_anchors(0)
    grams, rights = equations = users.equations(items, 0.5)
    errors = []
    for _ in range(4):
        users.solve_codes(equations, 0.01, 0.5)
        quadratic = np.einsum("va,vab,vb->", users.vectors, grams, users.vectors) - 2 * np.sum(rights * users.vectors)
        errors.append(quadratic + 0.01 * np.count_nonzero(users.columns >= 0))
    assert (np.diff(errors) < 1e-4).all()
    assert errors[-1] < 0
    expected = users.transform() @ users.anchors[:3]
    if biases:
        expected[:, -1] += users.own_biases()
    np.testing.assert_allclose(users.vectors, expected, atol=1e-6)
    assert users.transform().data.min() > 0
    assert users.num_values() == 3 * (2 + biases) + users.transform().nnz + np.count_nonzero(users.own_biases())


def test_an_entry_must_be_worth_its_charge():
    users, items, _ = two_sides(False)
    users.choose_anchors(0)
    users.solve_codes(users.equations(items, 0.5), 1e6, 0.5)
    assert users.transform().nnz == 0
    assert (users.vectors == 0).all()
    assert (users.covariances != 0).any()


def test_the_prior_is_the_second_moment_of_the_vectors():
    users, _, _ = two_sides(False)
    users.learn_prior()
    expected = (np.einsum("va,vb->vab", users.vectors, users.vectors) + users.covariances).mean(axis=0)
    np.testing.assert_allclose(users.prior, expected, rtol=1e-2, atol=1e-3)
