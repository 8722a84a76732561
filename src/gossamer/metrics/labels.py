"""Precision, recall and F1 of multi-label predictions: over all decisions, per label, or per example.

`predicted` and `truth` (N, L) hold 0 or 1 (or booleans), one column per label. Where a denominator is zero (no
label predicted, none true) the value is `zero_division`, as in scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Integer

from gossamer.core.checks import check_real

LabelMatrix: TypeAlias = Bool[np.ndarray, "N L"] | Integer[np.ndarray, "N L"]
Value = TypeVar("Value")


@dataclass(frozen=True)
class LabelScores(Generic[Value]):
    """Precision, recall and F1, as numbers or as one array each."""

    precision: Value
    recall: Value
    f1: Value


def micro_scores(
    predicted: LabelMatrix,
    truth: LabelMatrix,
    *,
    zero_division: float = 0.0,
) -> LabelScores[float]:
    """Return the scores of all N × L decisions counted together: F1 = 2TP / (2TP + FP + FN).

    >>> micro_scores(np.array([[1, 1], [0, 0]]), np.array([[1, 0], [0, 1]]))
    LabelScores(precision=0.5, recall=0.5, f1=0.5)
    """
    scores = _scores(predicted, truth, axis=None, zero_division=zero_division)
    return LabelScores(scores.precision.item(), scores.recall.item(), scores.f1.item())


def macro_scores(
    predicted: LabelMatrix,
    truth: LabelMatrix,
    *,
    zero_division: float = 0.0,
) -> LabelScores[float]:
    """Return the mean over labels of each label's scores; macro F1 is the mean of F1s, not the F1 of means."""
    scores = _scores(predicted, truth, axis=0, zero_division=zero_division)
    if predicted.shape[1] == 0:
        raise ValueError("predicted must have at least one label, got 0")
    return LabelScores(float(scores.precision.mean()), float(scores.recall.mean()), float(scores.f1.mean()))


def per_example_scores(
    predicted: LabelMatrix,
    truth: LabelMatrix,
    *,
    zero_division: float = 0.0,
) -> LabelScores[Float[np.ndarray, " N"]]:
    """Return the scores of each example's set of labels; their means are scikit-learn's average="samples"."""
    return _scores(predicted, truth, axis=1, zero_division=zero_division)


def _scores(
    predicted: np.ndarray, truth: np.ndarray, *, axis: int | None, zero_division: float
) -> LabelScores[np.ndarray]:
    check_real("zero_division", zero_division, at_least=0, at_most=1)
    if predicted.ndim != 2 or predicted.shape != truth.shape:
        raise ValueError(f"predicted must have the shape (N, L) of truth, got {predicted.shape} and {truth.shape}")
    for name, labels in (("predicted", predicted), ("truth", truth)):
        wrong = labels[(labels != 0) & (labels != 1)]
        if wrong.size:
            raise ValueError(f"{name} must hold only 0 and 1, got {wrong[0]}")
    num_predicted = np.atleast_1d(np.count_nonzero(predicted, axis=axis))
    num_true = np.atleast_1d(np.count_nonzero(truth, axis=axis))
    num_right = np.atleast_1d(np.count_nonzero((predicted != 0) & (truth != 0), axis=axis))
    return LabelScores(
        _ratio(num_right, num_predicted, zero_division),
        _ratio(num_right, num_true, zero_division),
        _ratio(2 * num_right, num_predicted + num_true, zero_division),
    )


def _ratio(numerator: np.ndarray, denominator: np.ndarray, zero_division: float) -> np.ndarray:
    ratio = np.full(denominator.shape, zero_division)
    np.divide(numerator, denominator, out=ratio, where=denominator > 0)
    return ratio
