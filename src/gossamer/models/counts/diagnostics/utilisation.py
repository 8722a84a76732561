"""How many latent directions a decoder uses, now and over the epochs of its training (figure 5c)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64

from gossamer.core.checks import check_real
from gossamer.models.counts.diagnostics.jacobian import log_prob_jacobian, singular_values
from gossamer.models.counts.module import Decoder

USED = "used_directions"  # the name in the record of an epoch


@dataclass(frozen=True, eq=False)
class EpochCurve:
    """One named value per epoch, epochs counted from 1; epochs without the value are left out."""

    name: str
    epochs: Int64[np.ndarray, " E"]
    values: Float64[np.ndarray, " E"]


def count_used(singular_values: Float[np.ndarray, " K"], threshold: float = 1.0) -> int:
    """Return how many singular values are above `threshold`; 1 is the paper's.

    >>> count_used(np.array([3.0, 1.0, 0.2]))
    1
    """
    check_real("threshold", threshold, at_least=0)
    return int((np.asarray(singular_values) > threshold).sum())


def count_used_directions(decoder: Decoder, threshold: float = 1.0) -> int:
    """Return how many singular values of the decoder's Jacobian at z = 0 are above `threshold`.

    They grow with √V, which the paper's threshold of 1 does not: a linear decoder as it begins, uniform in ±0.1, has
    all of them near 0.058·√V. So from some hundred terms on an untrained direction counts as used, and the number says
    what training has pruned, not what it has learned.
    """
    check_real("threshold", threshold, at_least=0)
    return count_used(singular_values(log_prob_jacobian(decoder)), threshold)


def utilisation_curve(history: Mapping[str, Any] | Sequence[Mapping[str, float]], name: str = USED) -> EpochCurve:
    """Return `name` over the epochs of a training history: a model's `history_`, or the records of its epochs.

    >>> utilisation_curve([{"epoch": 0, "used_directions": 4.0}, {"epoch": 1, "loss": 2.0}]).values.tolist()
    [4.0]
    """
    records = history["epochs"] if isinstance(history, Mapping) else history
    known = [
        (int(record.get("epoch", row)) + 1, float(record[name])) for row, record in enumerate(records) if name in record
    ]
    if not known:
        names = ", ".join(map(repr, sorted({key for record in records for key in record})))
        raise ValueError(f"history must have {name!r} in the record of an epoch, got {names or 'no epochs'}")
    epochs, values = zip(*known, strict=True)
    return EpochCurve(name, np.array(epochs, dtype=np.int64), np.array(values, dtype=np.float64))
