"""Ranks by what stands out of noise: VBMF's analytic solution and the optimal hard threshold (section 2.4)."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

SQUARE_THRESHOLD = 2.858  # times the median singular value (Gavish and Donoho 2014, unknown noise, square matrices)


def gavish_donoho_rank(values: Float[np.ndarray, " R"], shape: tuple[int, int]) -> int:
    """Return how many singular values exceed ω(β) times their median, β the ratio of the shorter to the longer side.

    ω(1) is the dissertation's 2.858; other shapes have the authors' cubic approximation.

    >>> gavish_donoho_rank(np.array([30.0, 20.0, 1.0, 1.0, 0.9]), (5, 5))
    2
    """
    ratio = min(shape) / max(shape)
    cubic = 0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43
    threshold = SQUARE_THRESHOLD if ratio == 1 else cubic
    return int((values > threshold * np.median(values)).sum())


def vbmf_rank(values: Float[np.ndarray, " R"], shape: tuple[int, int]) -> int:
    """Return the rank of the global analytic solution of empirical variational Bayes (Nakajima et al. 2013).

    The noise variance minimises Ω(σ²) = Σ_h ψ(γ_h² / (M σ²)) for the L × M matrix, L ≤ M; a triplet is kept where γ
    exceeds √(M σ² (1 + τ̄)(1 + α/τ̄)), with α = L/M and τ̄ = 2.5129 √α.

    >>> rng = np.random.default_rng(0)
    >>> planted = 8 * rng.normal(size=(30, 3)) @ rng.normal(size=(3, 50)) + rng.normal(size=(30, 50))
    >>> vbmf_rank(np.linalg.svd(planted, compute_uv=False), (30, 50))
    3
    """
    short, long = min(shape), max(shape)
    ratio = short / long
    tau_bar = 2.5129 * math.sqrt(ratio)
    x_bar = (1 + tau_bar) * (1 + ratio / tau_bar)
    squares = np.sort(values.astype(np.float64))[::-1] ** 2
    total = squares.sum()
    if total <= 0:
        return 0
    first_noise = min(max(math.ceil(short / (1 + ratio)) - 1, 1), len(squares) - 1)
    tail = squares[first_noise:]
    lower = max(tail[0] / (long * x_bar), tail.mean() / long) if len(tail) else total / (short * long) / 100
    upper = total / (short * long)
    lower = max(min(lower, upper), upper * 1e-12)

    def free_energy(log_variance: float) -> float:
        scaled = squares / (long * math.exp(log_variance))
        plain = scaled - np.log(np.maximum(scaled, np.finfo(float).tiny))
        high = scaled[scaled > x_bar]
        shifted = high - (1 + ratio)
        tau = 0.5 * (shifted + np.sqrt(np.maximum(shifted**2 - 4 * ratio, 0)))
        return float(plain.sum() + (np.log(tau + 1) + ratio * np.log(tau / ratio + 1) - tau).sum())

    bounds = (math.log(lower), math.log(upper) + 1e-9)
    variance = math.exp(minimize_scalar(free_energy, bounds=bounds, method="bounded").x)
    return int((squares > long * variance * x_bar).sum())
