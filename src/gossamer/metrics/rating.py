"""Errors of predicted ratings, one value per interaction."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Integer


def squared_error(
    prediction: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"] | Integer[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return (prediction − truth)² per interaction; its mean is the MSE.

    >>> squared_error(np.array([3.5, 1.0]), np.array([3.0, 3.0]))
    array([0.25, 4.  ])
    """
    difference = _difference(prediction, truth)
    with np.errstate(over="ignore"):  # an error too large for a float is infinite
        squares: Float[np.ndarray, " n"] = np.square(difference)
    return squares


def absolute_error(
    prediction: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"] | Integer[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return |prediction − truth| per interaction; its mean is the MAE."""
    magnitude: Float[np.ndarray, " n"] = np.abs(_difference(prediction, truth))
    return magnitude


def mse(prediction: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"] | Integer[np.ndarray, " n"]) -> float:
    """Return the mean squared error over at least one interaction."""
    return _mean(squared_error(prediction, truth))


def mae(prediction: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"] | Integer[np.ndarray, " n"]) -> float:
    """Return the mean absolute error over at least one interaction."""
    return _mean(absolute_error(prediction, truth))


def _difference(prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
    if prediction.ndim != 1 or prediction.shape != truth.shape:
        raise ValueError(
            f"prediction must be one-dimensional and as long as truth, got {prediction.shape} and {truth.shape}"
        )
    for name, values in (("prediction", prediction), ("truth", truth)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")
    with np.errstate(over="ignore"):
        # In double precision: a mean of millions of single-precision errors loses digits that papers print.
        return prediction.astype(np.float64) - truth.astype(np.float64)


def _mean(errors: np.ndarray) -> float:
    if errors.size == 0:
        raise ValueError("prediction must have at least one value, got 0")
    with np.errstate(over="ignore"):
        return float(errors.mean())
