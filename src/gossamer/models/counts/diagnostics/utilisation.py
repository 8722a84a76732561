"""How many latent directions a decoder uses, now and over the epochs of its training (figure 5c)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from scipy import sparse

from gossamer.core.checks import check_real
from gossamer.models.counts.diagnostics.jacobian import log_prob_jacobian
from gossamer.models.counts.module import Decoder

USED = "used_directions"  # the name in the record of an epoch


@dataclass(frozen=True, eq=False)
class EpochCurve:
    """One named value per epoch, epochs counted from 1; epochs without the value are left out."""

    name: str
    epochs: Int64[np.ndarray, " E"]
    values: Float64[np.ndarray, " E"]


def count_used(singular_values: Float[np.ndarray, " K"], threshold: float = 1.0) -> int:
    """Return how many singular values are above `threshold`.

    >>> count_used(np.array([3.0, 1.0, 0.2]))
    1
    """
    check_real("threshold", threshold, at_least=0)
    return int((np.asarray(singular_values) > threshold).sum())


@torch.no_grad()
def document_singular_values(decoder: Decoder, num_words: float) -> Float64[np.ndarray, " K"]:
    """Return the singular values of √N · diag(√p) · J at z = 0, falling: how a document of N words depends on z.

    They are roots of the eigenvalues of N·Jᵀ diag(p) J, the Fisher information on z in a document. By Laplace's
    approximation the posterior has the precision 1 + σ² along a direction with the value σ, where the prior has 1, and
    ½ log(1 + σ²) nats are learned there. The paper's own J has a row per term and none of their probabilities: its
    singular values grow with √V, and its threshold of 1 counts all directions of a linear decoder that nobody trained.
    """
    check_real("num_words", num_words, at_least=0)
    jacobian = log_prob_jacobian(decoder)
    probs = decoder.logits(jacobian.new_zeros(1, decoder.latent_dim)).softmax(dim=1)[0]
    weighted = (jacobian * probs.sqrt().unsqueeze(1)).double()
    eigenvalues = torch.linalg.eigvalsh(num_words * (weighted.T @ weighted)).clamp(min=0)
    values: np.ndarray = eigenvalues.sqrt().flip(0).cpu().numpy()
    return values


def count_used_directions(decoder: Decoder, num_words: float, threshold: float = 1.0) -> int:
    """Return how many values of `document_singular_values` are above `threshold`.

    Above 1, a document of `num_words` words says more about the direction than the prior does. `num_words` is the mean
    length of the documents, over the weight of the KL where that is not 1. Neither rare terms nor more terms make a
    direction used; a linear decoder as it begins, uniform in ±0.1, has the value √(N / 300) everywhere.
    """
    check_real("threshold", threshold, at_least=0)
    return count_used(document_singular_values(decoder, num_words), threshold)


def mean_words(matrix: sparse.csr_array) -> float:
    """Return the mean length of the documents that have words; 0 where none has.

    >>> mean_words(sparse.csr_array([[2, 1], [0, 0], [0, 1]]))
    2.0
    """
    lengths = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    return float(lengths[lengths > 0].mean()) if (lengths > 0).any() else 0.0


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
