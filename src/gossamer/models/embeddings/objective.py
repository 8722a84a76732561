"""What NBANT minimises: prediction loss, entries of T and number of anchors in one number (equation 6)."""

from __future__ import annotations

from gossamer.core.checks import check_int, check_real


def objective(loss: float, nnz: int, num_anchors: int, lambda1: float, lambda2: float) -> float:
    """Return loss + λ₂·‖T‖₀ + (λ₁ − λ₂)·K, equations (6), (33) and (35), for λ₁ > λ₂ > 0.

    The paper writes Σᵢ for the loss but computes its table 14 with the *mean* per example (log perplexity), so `loss`
    is a mean here, too; a λ of the summed loss is divided by the number of examples. A model with several tables has
    the sum of their entries as `nnz` and the sum of their anchors as `num_anchors`: each table has a prior of its own.

    >>> from math import log
    >>> round(objective(log(79.4), 214_000, 1000, 2e-5, 1e-6), 2)  # the second row of table 14
    4.61
    """
    check_lambdas(lambda1, lambda2)
    check_real("loss", loss)
    check_int("nnz", nnz, at_least=0)
    check_int("num_anchors", num_anchors, at_least=0)
    return loss + lambda2 * nnz + (lambda1 - lambda2) * num_anchors


def check_lambdas(lambda1: float, lambda2: float) -> None:
    """Raise a ValueError unless λ₁ > λ₂ > 0, without which every object would get an anchor of its own."""
    check_real("lambda2", lambda2, above=0)
    if not check_real("lambda1", lambda1, above=0) > lambda2:
        raise ValueError(f"lambda1 must be above lambda2 ({lambda2}), got {lambda1}")
