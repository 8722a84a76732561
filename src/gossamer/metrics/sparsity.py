"""How sparse codes are: the number of nonzeros, and Hoyer's measure as in the HSVAE paper (section 4.1)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gossamer.core.checks import check_real


def l0(codes: Float[np.ndarray, "N D"], *, threshold: float = 0.0) -> Int[np.ndarray, " N"]:
    """Return how many dimensions of each code are larger than `threshold` in absolute value.

    >>> l0(np.array([[0.0, -2.0, 0.1], [0.0, 0.0, 0.0]]))
    array([2, 0])
    """
    check_real("threshold", threshold, at_least=0)
    _check_codes(codes)
    counts: Int[np.ndarray, " N"] = (np.abs(codes) > threshold).sum(axis=1)
    return counts


def hoyer(codes: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    """Return (√D − ‖z‖₁ / ‖z‖₂) / (√D − 1) per code: 0 for equal magnitudes, 1 for a single nonzero.

    D must be at least 2. A code of zeros has no direction and gets NaN. Reference: Hurley and Rickard, 2009.

    >>> hoyer(np.array([[1.0, -1.0, 1.0, 1.0], [0.0, 3.0, 0.0, 0.0]]))
    array([0., 1.])
    """
    _check_codes(codes)
    if codes.shape[1] < 2:
        raise ValueError(f"codes must have at least 2 dimensions, got {codes.shape[1]}")
    magnitude = np.abs(codes.astype(np.float64))
    largest = magnitude.max(axis=1, keepdims=True, initial=0)
    is_zero = largest[:, 0] == 0
    # Hoyer does not change with scale, and squares of scaled codes neither overflow nor vanish.
    magnitude /= np.where(largest == 0, 1, largest)
    root = np.sqrt(codes.shape[1])
    ratio = magnitude.sum(axis=1) / np.where(is_zero, 1, np.sqrt((magnitude**2).sum(axis=1)))
    return np.where(is_zero, np.nan, np.clip((root - ratio) / (root - 1), 0, 1))


def average_hoyer(codes: Float[np.ndarray, "N D"]) -> float:
    """Return the mean Hoyer of codes whose dimensions were each divided by their standard deviation over the set.

    This is Average Hoyer (AH) of the HSVAE paper. Dimensions that are zero everywhere stay zero; codes of zeros
    are left out of the mean, which is NaN when all are.

    >>> round(average_hoyer(np.array([[1.0, 0.0], [0.0, 100.0], [1.0, 100.0]])), 3)
    0.667
    """
    _check_codes(codes)
    if len(codes) == 0:
        raise ValueError("codes must have at least one row, got 0")
    scale = np.abs(codes).max(axis=0, initial=0).astype(np.float64)
    constant = (codes == codes[0]).all(axis=0) & (scale > 0)
    if constant.any():
        dimension = int(np.flatnonzero(constant)[0])
        raise ValueError(
            "codes must vary over the set in every dimension that is not zero throughout, "
            f"got {codes[0, dimension]} in every row of dimension {dimension}"
        )
    scaled = codes / np.where(scale == 0, 1, scale)
    deviation = scaled.std(axis=0)
    values = hoyer(scaled / np.where(deviation == 0, 1, deviation))
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def _check_codes(codes: np.ndarray) -> None:
    if codes.ndim != 2:
        raise ValueError(f"codes must have the shape (N, D), got {codes.shape}")
    if not np.isfinite(codes).all():
        raise ValueError(f"codes must be finite, got {codes[~np.isfinite(codes)][0]}")
