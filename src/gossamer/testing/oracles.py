"""Brute force for tiny cases: dense, slow, in double precision, and as close to the equations as code can be."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import ElasticNet

Matrix = Float[np.ndarray, "N M"]


def cosine_weights(x: Matrix, num_neighbours: int, shrinkage: float) -> Float[np.ndarray, "M M"]:
    """Return the shrunken cosine of every pair of columns, each row keeping its largest `num_neighbours`."""
    norms = np.linalg.norm(x, axis=0)
    weights = np.zeros((x.shape[1], x.shape[1]))
    for i in range(x.shape[1]):
        similar = [
            (-(x[:, i] @ x[:, j]) / (norms[i] * norms[j] + shrinkage), j)
            for j in range(x.shape[1])
            if j != i and x[:, i] @ x[:, j] != 0
        ]
        for negated, j in sorted(similar)[:num_neighbours]:
            weights[i, j] = -negated
    return weights


def ease_weights(x: Matrix, regularization: float) -> Float[np.ndarray, "M M"]:
    """Return the zero-diagonal ridge weights one item at a time, without the closed form that is to be tested."""
    num_items = x.shape[1]
    weights = np.zeros((num_items, num_items))
    for item in range(num_items):
        others = np.arange(num_items) != item
        design = x[:, others]
        normal = design.T @ design + regularization * np.eye(num_items - 1)
        weights[others, item] = np.linalg.solve(normal, design.T @ x[:, item])
    return weights


def slim_weights(x: Matrix, l1: float, l2: float, *, nonnegative: bool) -> Float[np.ndarray, "M M"]:
    """Return an elastic net by scikit-learn for every item from the others; its penalties are means over users."""
    num_users, num_items = x.shape
    weights = np.zeros((num_items, num_items))
    for item in range(num_items):
        others = np.arange(num_items) != item
        net = ElasticNet(
            alpha=(l1 + l2) / num_users,
            l1_ratio=l1 / (l1 + l2),
            fit_intercept=False,
            positive=nonnegative,
            max_iter=100_000,
            tol=1e-10,
        )
        weights[others, item] = net.fit(x[:, others], x[:, item]).coef_
    return weights


def ials_rows(
    weights: Matrix, other: Float[np.ndarray, "M D"], penalty: Float[np.ndarray, " N"], unobserved_weight: float
) -> Float[np.ndarray, "N D"]:
    """Return the exact rows of implicit ALS, each from normal equations over all M items, observed or not."""
    rows = []
    for observed, row_penalty in zip(weights, penalty, strict=True):
        normal = other.T @ np.diag(observed + unobserved_weight) @ other + row_penalty * np.eye(other.shape[1])
        rows.append(np.linalg.solve(normal, other.T @ observed))
    return np.array(rows)


def ials_loss(
    weights: Matrix,
    users: Float[np.ndarray, "N D"],
    items: Float[np.ndarray, "M D"],
    user_penalty: Float[np.ndarray, " N"],
    item_penalty: Float[np.ndarray, " M"],
    unobserved_weight: float,
) -> float:
    """Return implicit ALS's loss, summed over every cell of users × items."""
    scores = users @ items.T
    fit = np.sum(weights * (1 - scores) ** 2) + unobserved_weight * np.sum(scores**2)
    return float(fit + user_penalty @ np.sum(users**2, axis=1) + item_penalty @ np.sum(items**2, axis=1))


def ridge_rows(
    targets: Matrix, observed: Matrix, other: Float[np.ndarray, "M D"], penalty: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, "N D"]:
    """Return the ridge regression of every row's observed targets on the matching rows of `other`."""
    rows = []
    for target, is_observed, row_penalty in zip(targets, observed.astype(bool), penalty, strict=True):
        design = other[is_observed]
        rows.append(np.linalg.solve(design.T @ design + np.diag(row_penalty), design.T @ target[is_observed]))
    return np.array(rows)
