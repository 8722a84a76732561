"""From probabilities of labels to labels: thresholds chosen for an F1, and never more labels than allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from gossamer.core.checks import check_real
from gossamer.metrics.labels import macro_scores, micro_scores

GRID = tuple(round(0.05 * step, 2) for step in range(1, 11))  # the paper's k
LABEL_GRID = (0.01, 0.02, 0.03, 0.04, 0.07, *GRID)  # a rare label is best switched on near its own frequency
PER_MODEL, PER_LABEL = "cv", "cv-per-label"


def micro_f1(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return F1 over all decisions."""
    return micro_scores(predicted, truth).f1


def macro_f1(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean F1 of the labels."""
    return macro_scores(predicted, truth).f1


def mean_f1(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean of micro and macro F1, for those who want one model for both."""
    return (micro_f1(predicted, truth) + macro_f1(predicted, truth)) / 2


OBJECTIVES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "micro_f1": micro_f1,
    "macro_f1": macro_f1,
    "mean_f1": mean_f1,
}


def share_grid(num_labels: int) -> tuple[float, ...]:
    """Return GRID, and below it multiples of half an even share: thresholds for probabilities that K labels divide.

    >>> share_grid(30)[:4]
    (0.016666666666666666, 0.03333333333333333, 0.05, 0.1)
    """
    half = 0.5 / num_labels
    return (*(half * step for step in range(1, 2 * num_labels) if half * step < GRID[0] - 1e-9), *GRID)


def switch_on(
    probs: Float[np.ndarray, "N K"], thresholds: Float[np.ndarray, " K"], max_active: int
) -> Bool[np.ndarray, "N K"]:
    """Return which labels are above their thresholds, of each row the `max_active` furthest above at most.

    >>> switch_on(np.array([[0.9, 0.6, 0.7]]), np.array([0.5, 0.5, 0.5]), max_active=2).tolist()
    [[True, False, True]]
    """
    above = probs - thresholds
    is_on: np.ndarray = above > 0
    if max_active < probs.shape[1]:
        last = np.argsort(-above, axis=1, kind="stable")[:, max_active:]
        np.put_along_axis(is_on, last, False, axis=1)
    return is_on


def choose_thresholds(
    probs: Float[np.ndarray, "N K"],
    labels: Int[np.ndarray, "N K"],
    max_active: int,
    *,
    how: str | float,
    objective: str,
    grid: Sequence[float] = GRID,
) -> tuple[Float[np.ndarray, " K"], float]:
    """Return a threshold per label and the objective it has on these probabilities, which training must not have seen.

    "cv" takes the one number of `grid` that is best for all labels; "cv-per-label" starts from it and then gives each
    label the one that is best for its own F1, where that label's F1 rises; a number is taken as it is.
    """
    score = OBJECTIVES[objective]
    num_labels = probs.shape[1]
    if how not in (PER_MODEL, PER_LABEL):
        thresholds = np.full(num_labels, check_real("threshold", how))
        return thresholds, score(switch_on(probs, thresholds, max_active), labels)
    scores = [score(switch_on(probs, np.full(num_labels, level), max_active), labels) for level in grid]
    thresholds = np.full(num_labels, grid[int(np.argmax(scores))])
    if how == PER_LABEL:
        found = np.stack([_f1_of_labels(probs > level, labels) for level in LABEL_GRID])
        ours = _f1_of_labels(probs > thresholds, labels)
        best = np.asarray(LABEL_GRID)[found.argmax(axis=0)]
        thresholds = np.where(found.max(axis=0) > ours, best, thresholds)
    return thresholds, score(switch_on(probs, thresholds, max_active), labels)


def _f1_of_labels(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    num_right = (predicted & (truth > 0)).sum(axis=0)
    total = predicted.sum(axis=0) + (truth > 0).sum(axis=0)
    f1: np.ndarray = np.where(total > 0, 2 * num_right / np.maximum(total, 1), 0.0)
    return f1
