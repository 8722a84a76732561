"""Axes of a latent space along which few things change much: varimax.

A standard normal prior has no axes of its own: z and Rᵀz are alike to it for every rotation R, and training leaves the
model's axes wherever they came to lie. People read a direction by the few terms that it changes most, so of all
rotations that one is chosen whose loadings are large or small, seldom in between.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

MAX_ITERATIONS = 500
TOLERANCE = 1e-12  # relative gain of an iteration below which the rotation stays: gains are squares of angles


def varimax(loadings: Float64[np.ndarray, "V K"]) -> Float64[np.ndarray, "K K"]:
    """Return the rotation R (RᵀR = 1) that maximises Σ_k var_v((loadings · R)²_vk), by Kaiser's criterion.

    Every iteration is the polar factor of the criterion's gradient, which never lowers it. Reference: Kaiser, 1958.

    >>> simple = np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    >>> turned = simple @ np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> sorted(np.abs(turned @ varimax(turned)).round(4).sum(axis=0).tolist())
    [3.0, 3.0]
    """
    rotation = np.eye(loadings.shape[1])
    reached = 0.0
    for _ in range(MAX_ITERATIONS):
        turned = loadings @ rotation
        gradient = loadings.T @ (turned**3 - turned * (turned**2).mean(axis=0))
        left, gains, right = np.linalg.svd(gradient)
        rotation = left @ right
        if gains.sum() <= reached * (1 + TOLERANCE):
            break
        reached = float(gains.sum())
    return rotation
