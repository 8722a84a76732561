"""Anchors against the normal equations written out."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.models.embeddings.ratings.als_anchors import solve_anchors


def problem(seed: int = 0, unused: bool = False) -> tuple[np.ndarray, sparse.csr_array, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    codes = np.where(generator.random((30, 4)) < 0.5, generator.random((30, 4)), 0)
    if unused:
        codes[:, 2] = 0
    factors = generator.normal(size=(30, 6, 3))
    grams = np.einsum("vna,vnb->vab", factors, factors) + 0.1 * np.eye(3)
    anchors = generator.normal(size=(4, 3)).astype(np.float32)
    return anchors, sparse.csr_array(codes), grams.astype(np.float32), generator.normal(size=(30, 3))


def error(anchors: np.ndarray, codes: sparse.csr_array, grams: np.ndarray, rights: np.ndarray) -> float:
    vectors = codes @ anchors
    return float(np.einsum("va,vab,vb->", vectors, grams, vectors) - 2 * np.sum(rights * vectors))


def test_enough_steps_solve_the_normal_equations():
    anchors, codes, grams, rights = problem()
    dense = codes.toarray()
    matrix = np.einsum("vj,vk,vab->jakb", dense, dense, grams).reshape(12, 12)
    expected = np.linalg.solve(matrix, (dense.T @ rights).ravel()).reshape(4, 3)
    np.testing.assert_allclose(solve_anchors(anchors, codes, grams, rights, steps=40), expected, atol=1e-4)


def test_every_step_lowers_the_error():
    start, codes, grams, rights = problem(1)
    errors = [error(start, codes, grams, rights)]
    errors += [error(solve_anchors(start, codes, grams, rights, steps=n), codes, grams, rights) for n in (1, 2, 4, 8)]
    assert (np.diff(errors) < 1e-6).all()
    assert errors[-1] < errors[0]


def test_an_unused_anchor_stays_where_it_is():
    anchors, codes, grams, rights = problem(2, unused=True)
    np.testing.assert_allclose(solve_anchors(anchors, codes, grams, rights)[2], anchors[2], atol=1e-6)
