"""From scores to probabilities: two numbers that make P(user takes item) right among known targets and negatives."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit

ITERATIONS = 50
PRIOR = 1e-3  # a little ridge, so that scores that separate perfectly do not run off to infinity


def fit_platt(scores: Float[np.ndarray, " n"], is_target: Bool[np.ndarray, " n"]) -> tuple[float, float]:
    """Return slope and intercept of P = 1 / (1 + exp(−slope · score − intercept)), by Newton (Platt 1999).

    >>> slope, intercept = fit_platt(np.array([0.0, 0.0, 0.0, 0.0]), np.array([True, False, False, False]))
    >>> round(float(expit(intercept)), 2)
    0.25
    """
    design = np.stack([scores, np.ones_like(scores)], axis=1).astype(np.float64)
    beta = np.zeros(2)
    for _ in range(ITERATIONS):
        probs = expit(design @ beta)
        gradient = design.T @ (probs - is_target) + PRIOR * beta
        curvature = (design * (probs * (1 - probs))[:, None]).T @ design + PRIOR * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        step /= max(1.0, float(np.abs(step).max()) / 5)
        beta = beta - step
        if np.abs(step).max() < 1e-8:
            break
    return float(beta[0]), float(beta[1])
