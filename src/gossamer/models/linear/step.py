"""Alternating sweeps as steps of the loop: both sides of a factorisation improve once per epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse

from gossamer.data.batching import Batches
from gossamer.models.linear.least_squares import (
    frequency_penalty,
    improve_rows,
    penalty_loss,
    ridge_rows,
    with_constant,
)

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def whole_data() -> Batches[None]:
    """Return one batch per epoch: a sweep sees all data, so there is nothing to draw."""
    return Batches(lambda _: None, num_examples=1, batch_size=1, shuffle=False)


class _TwoSides:
    """Factors of users and items that a checkpoint can hold; with several processes each does the same work."""

    user_factors: np.ndarray
    item_factors: np.ndarray

    def setup(self, fabric: Fabric) -> None:
        """Do nothing: the compiled loops run on the CPU and share no work between processes."""

    def state_dict(self) -> dict[str, Any]:
        """Return both factor matrices."""
        return {
            "user_factors": torch.from_numpy(self.user_factors),
            "item_factors": torch.from_numpy(self.item_factors),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Copy both factor matrices from a state of the same shapes."""
        for name in ("user_factors", "item_factors"):
            mine, given = getattr(self, name), state[name].numpy()
            if mine.shape != given.shape:
                raise ValueError(
                    f"{name} must have shape {mine.shape} as these data and arguments do, got {given.shape}; "
                    "train anew with another checkpoint"
                )
            mine[:] = given


class ImplicitSweep(_TwoSides):
    """One sweep of implicit ALS: all users given the items, then all items given the users.

    The loss, over all of users × items and both penalties, is divided by the number of interactions; it never rises.
    """

    def __init__(
        self,
        matrix: sparse.csr_array,
        *,
        num_factors: int,
        unobserved_weight: float,
        regularization: float,
        reg_exponent: float,
        cg_steps: int | None,
        generator: np.random.Generator,
    ) -> None:
        num_users, num_items = matrix.shape
        self.by_user = matrix
        self.by_item = matrix.T.tocsr()
        self.unobserved_weight = unobserved_weight
        self.cg_steps = cg_steps
        self.user_penalty = frequency_penalty(self.by_user, unobserved_weight, regularization, reg_exponent)
        self.item_penalty = frequency_penalty(self.by_item, unobserved_weight, regularization, reg_exponent)
        # Small against the targets (1), so that the first sweep is close to a regression on random directions.
        scale = 0.1 / np.sqrt(num_factors)
        self.user_factors = np.zeros((num_users, num_factors), dtype=np.float32)
        self.item_factors = (scale * generator.standard_normal((num_items, num_factors))).astype(np.float32)

    def __call__(self, batch: None, weight: float) -> dict[str, float]:  # noqa: ARG002 (all data, every time)
        """Improve users, then items, and return the loss per interaction."""
        improve_rows(
            self.by_user,
            self.item_factors,
            self.user_penalty,
            self.unobserved_weight,
            self.cg_steps,
            self.user_factors,
        )
        loss = improve_rows(
            self.by_item,
            self.user_factors,
            self.item_penalty,
            self.unobserved_weight,
            self.cg_steps,
            self.item_factors,
        )
        return {"loss": (loss + penalty_loss(self.user_penalty, self.user_factors)) / self.by_user.nnz}


class RatingSweep(_TwoSides):
    """One sweep of biased matrix factorisation; rows are [bias, factors], solved together.

    The loss is the squared error plus both penalties, per rating; it never rises.
    """

    def __init__(
        self,
        centred: sparse.csr_array,
        *,
        num_factors: int,
        regularization: float,
        bias_regularization: float,
        generator: np.random.Generator,
    ) -> None:
        num_users, num_items = centred.shape
        self.by_user = centred
        self.by_item = centred.T.tocsr()
        self.user_penalty = _row_penalty(self.by_user, num_factors, regularization, bias_regularization)
        self.item_penalty = _row_penalty(self.by_item, num_factors, regularization, bias_regularization)
        self.user_factors = np.zeros((num_users, 1 + num_factors), dtype=np.float32)
        self.item_factors = np.zeros((num_items, 1 + num_factors), dtype=np.float32)
        self.item_factors[:, 1:] = 0.1 * generator.standard_normal((num_items, num_factors))

    def __call__(self, batch: None, weight: float) -> dict[str, float]:  # noqa: ARG002 (all data, every time)
        """Regress users on items, then items on users, and return the loss per rating."""
        _regress(self.by_user, self.item_factors, self.user_penalty, self.user_factors)
        loss = _regress(self.by_item, self.user_factors, self.item_penalty, self.item_factors)
        loss += float(np.sum(self.user_penalty * np.square(self.user_factors), dtype=np.float64))
        return {"loss": loss / self.by_user.nnz}


def _row_penalty(
    ratings: sparse.csr_array, num_factors: int, regularization: float, bias_regularization: float
) -> np.ndarray:
    """Return the penalties of [bias, factors]: a constant for the bias, λ times the number of ratings for factors."""
    counts = np.maximum(np.diff(ratings.indptr), 1)
    factors = np.repeat(regularization * counts[:, None], num_factors, axis=1)
    return np.hstack([np.full((len(counts), 1), bias_regularization), factors]).astype(np.float32)


def _regress(ratings: sparse.csr_array, other: np.ndarray, penalty: np.ndarray, rows: np.ndarray) -> float:
    residual = sparse.csr_array(
        (ratings.data - other[ratings.indices, 0], ratings.indices, ratings.indptr), shape=ratings.shape
    )
    return ridge_rows(residual, with_constant(other), penalty, rows)
