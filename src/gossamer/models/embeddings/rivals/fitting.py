"""Fit shared vectors to given ones where every row is a known combination of few of them: two exact half-steps."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import sparse
from torch import Tensor


def fit_shared(
    mixing: sparse.csr_array, weight: Float[np.ndarray, "V D"], start: Float[np.ndarray, "n D"], steps: int = 20
) -> Float[np.ndarray, "n D"]:
    """Return vectors B with ‖mixing·B − weight‖² smaller than `start` has, by preconditioned conjugate gradients.

    Every column of `weight` is a problem of its own with the same matrix. Exact after one step where each row of
    `mixing` has one entry.
    """
    shared = np.array(start, dtype=np.float64)
    diagonal = np.asarray(mixing.multiply(mixing).sum(axis=0)).reshape(-1, 1)
    scale = np.where(diagonal > 0, 1 / np.maximum(diagonal, 1e-300), 0.0)
    slope = mixing.T @ (weight - mixing @ shared)
    direction = scale * slope
    size = (slope * direction).sum(axis=0)
    for _ in range(steps):
        image = mixing @ direction
        length = (image * image).sum(axis=0)
        going = length > 1e-20 * (1 + size)  # a column that is solved already stays as it is
        step = np.where(going, size / np.where(going, length, 1), 0)
        shared += step * direction
        slope -= step * (mixing.T @ image)
        better = scale * slope
        new_size = (slope * better).sum(axis=0)
        direction = better + np.where(going, new_size / np.maximum(size, 1e-300), 0) * direction
        size = new_size
    return shared


def fit_weights(
    shared: Float[Tensor, "n D"], places: Int[Tensor, "B k"], weight: Float[Tensor, "B D"]
) -> Float[Tensor, "B k"]:
    """Return the weights w with the least ‖Σ_j w_ij · shared[places_ij] − weight_i‖² for every row i."""
    parts = shared[places].double()
    gram = parts @ parts.transpose(1, 2)
    # Two hashes of an id may agree: a little ridge shares the weight between equal vectors.
    ridge = 1e-6 * gram.diagonal(dim1=1, dim2=2).sum(1).clamp(min=1e-12)
    system = gram + ridge.reshape(-1, 1, 1) * torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    solved: Tensor = torch.linalg.solve(system, (parts @ weight.double().unsqueeze(2)).squeeze(2))
    return solved.to(shared.dtype)
