"""How well decoded states agree with true ones, by number or after matching."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int
from scipy.optimize import linear_sum_assignment

from gossamer.models.markov.together import add_up, largest

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

Labels = Int[np.ndarray, " N"]


def label_accuracy(found: Labels, true: Labels) -> float:
    """Return the share of steps with the right number.

    >>> label_accuracy(np.array([0, 1, 1]), np.array([0, 1, 0])).__round__(3)
    0.667
    """
    return float(np.mean(found == true))


def match_labels(found: Labels, true: Labels, sharing: Sharing | None = None) -> dict[int, int]:
    """Return which true state each found one stands for, one to one, so that most steps (of all processes) are right.

    >>> match_labels(np.array([1, 1, 0]), np.array([0, 0, 1]))
    {0: 1, 1: 0}
    """
    size = largest(int(max(found.max(initial=0), true.max(initial=0))) + 1, sharing)
    together = np.zeros((size, size))
    np.add.at(together, (found, true), 1.0)
    rows, columns = linear_sum_assignment(add_up(together, sharing), maximize=True)
    return dict(zip(rows.tolist(), columns.tolist(), strict=True))


def matched_accuracy(found: Labels, true: Labels) -> float:
    """Return the share of right steps after the best matching; it flatters, because it looks at the truth."""
    matching = match_labels(found, true)
    return label_accuracy(np.array([matching[state] for state in found.tolist()]), true)
