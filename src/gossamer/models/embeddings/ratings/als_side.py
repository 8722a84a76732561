"""One side of an anchored factorisation of ratings: its codes, anchors and uncertainty, given the other side."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gossamer.data.content import read_only
from gossamer.models.embeddings.ratings.als_anchors import solve_anchors
from gossamer.models.embeddings.ratings.als_kernels import add_equations, code_equations
from gossamer.models.embeddings.sparse_rows import csr_of, fit_codes, free_slots

STATE = ("anchors", "columns", "values", "vectors", "covariances", "prior")


class Side:
    """Users or items: V vectors e = t A (+ own bias), t ≥ 0 sparse, each with a posterior covariance.

    Vectors have D coordinates that meet the other side's, and with `biases` one more that meets the constant 1; the
    last column of T is then an entry of either sign that adds to this coordinate alone, the row's own bias. Entries of
    any kind cost the same charge. Given the other side, a row's expected squared error is eᵀG e − 2 cᵀe + constant
    with G = Σ (y yᵀ + C_y) over its ratings; the prior N(0, Σ) of all rows adds σ² Σ⁻¹ to G.
    """

    def __init__(
        self, ratings: sparse.csr_array, embedding_dim: int, num_anchors: int, num_slots: int, biases: bool
    ) -> None:
        num_rows, width = ratings.shape[0], embedding_dim + biases
        # Always the same types, read-only: each compiled loop is then compiled once.
        self.indptr = read_only(ratings.indptr.astype(np.int64))
        self.indices = read_only(ratings.indices.astype(np.int32, copy=False))
        self.ratings = ratings.data.astype(np.float32, copy=False)
        ones = np.ones(ratings.nnz, dtype=np.float32)
        self.rated = sparse.csr_array((ones, ratings.indices, ratings.indptr), shape=ratings.shape)
        self.biases = biases
        self.num_anchors = num_anchors
        self.vectors = np.zeros((num_rows, width), dtype=np.float32)
        self.covariances = np.zeros((num_rows, width, width), dtype=np.float32)
        self.prior = np.eye(width)
        # The own bias is one more anchor: the unit vector of the last coordinate.
        self.anchors = np.zeros((num_anchors + biases, width), dtype=np.float32)
        if biases:
            self.anchors[-1, -1] = 1
        self.columns, self.values = free_slots(num_rows, min(num_slots, num_anchors) + biases)

    def equations(self, other: Side, noise: float) -> tuple[np.ndarray, np.ndarray]:
        """Return G (V, D, D), σ²Σ⁻¹ included, and c (V, D) of every row, given the other side."""
        targets, seen, uncertain = self.ratings, other.vectors, other.covariances
        num_rows, width = self.vectors.shape
        grams = np.empty((num_rows, width, width), dtype=np.float32)
        grams[:] = noise * np.linalg.inv(self.prior)
        rights = np.zeros((num_rows, width), dtype=np.float32)
        if self.biases:
            targets = targets - seen[self.indices, -1]
            # E[y b] = E[y] E[b] + cov(y, b): what the other side's bias explains together with its vector.
            shared = uncertain[:, :, -1].copy()
            shared[:, -1] = 0
            rights -= self.rated @ shared
            seen, uncertain = seen.copy(), uncertain.copy()
            seen[:, -1] = 1
            uncertain[:, -1, :] = uncertain[:, :, -1] = 0
        add_equations((self.indptr, self.indices, read_only(targets)), seen, uncertain, grams, rights)
        return grams, rights

    def solve_freely(self, equations: tuple[np.ndarray, np.ndarray], noise: float) -> None:
        """Set every vector to its best, without anchors."""
        grams, rights = equations
        inverse = np.linalg.inv(grams)
        self.vectors[:] = np.matmul(inverse, rights[:, :, None])[:, :, 0]
        self.covariances[:] = noise * inverse

    def expected_error(self, equations: tuple[np.ndarray, np.ndarray], other: Side, noise: float) -> float:
        """Return the mean squared error of the ratings, expected over both sides' uncertainty: the new σ²."""
        grams, rights = equations
        moments = self.vectors[:, :, None] * self.vectors[:, None, :] + self.covariances
        total = np.sum(grams * moments, dtype=np.float64) - 2 * np.sum(rights * self.vectors, dtype=np.float64)
        total -= noise * float(np.sum(np.linalg.inv(self.prior) * moments.sum(axis=0, dtype=np.float64)))
        targets = self.ratings.astype(np.float64)
        if self.biases:
            targets -= other.vectors[self.indices, -1]
            total += float(other.covariances[self.indices, -1, -1].sum(dtype=np.float64))
        return float(total + np.square(targets).sum()) / len(targets)

    def learn_prior(self) -> None:
        """Set Σ to the mean of e eᵀ + C (empirical Bayes): dimensions that explain little are held tightly."""
        second_moment = self.vectors.T @ self.vectors + self.covariances.sum(axis=0)
        self.prior = second_moment.astype(np.float64) / len(self.vectors)
        self.prior += (1e-4 * np.trace(self.prior) / len(self.prior) + 1e-8) * np.eye(len(self.prior))

    def choose_anchors(self, random_state: int) -> None:
        """Take the anchors that code the present vectors best with few entries each."""
        anchors, _ = fit_codes(
            self.vectors, self.num_anchors, min(3, self.num_anchors), sweeps=4, random_state=random_state
        )
        self.anchors[: self.num_anchors] = anchors

    def solve_codes(self, equations: tuple[np.ndarray, np.ndarray], charge: float, noise: float) -> None:
        """Improve every row's code, then all anchors, under these equations."""
        signed_from = self.num_anchors  # own biases are of either sign
        by_coordinate = np.ascontiguousarray(self.anchors.T)
        code_equations(by_coordinate, equations, charge, signed_from, (self.columns, self.values))
        grams, rights = equations
        # How far the row's vector is known at all, not how far its code is: what a code leaves out is uncertain, too.
        self.covariances[:] = noise * np.linalg.inv(grams)
        transform = self.transform()
        if self.biases:
            rights = rights - self.own_biases()[:, None] * grams[:, :, -1]
        self.anchors[: self.num_anchors] = solve_anchors(self.anchors[: self.num_anchors], transform, grams, rights)
        self.vectors[:] = transform @ self.anchors[: self.num_anchors]
        if self.biases:
            self.vectors[:, -1] += self.own_biases()

    def transform(self) -> sparse.csr_array:
        """Return T (V, K), without own biases."""
        return csr_of(self.columns, self.values, len(self.anchors))[:, : self.num_anchors].tocsr()

    def own_biases(self) -> np.ndarray:
        """Return one bias per row, 0 where none is stored."""
        biases: np.ndarray = np.sum(self.values * (self.columns == self.num_anchors), axis=1)
        return biases

    def num_values(self) -> int:
        """Return how many numbers anchors, codes and own biases take."""
        return int(self.num_anchors * self.vectors.shape[1] + np.count_nonzero(self.columns >= 0))

    def state(self) -> dict[str, Any]:
        """Return everything that changes."""
        return {name: getattr(self, name) for name in STATE}
