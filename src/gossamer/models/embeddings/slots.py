"""T as rows of slots: S places per row, each the number of an anchor and a weight, distinct within a row.

A fixed number of places makes a lookup a plain gather, and lets entries come and go without moving others. A place
whose weight is exactly zero is free: it is not stored, not counted, and may be given to another anchor.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Integer
from scipy import sparse

from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.models.embeddings.slot_kernels import fill_slots

LARGEST_SMALL = np.iinfo(np.int16).max


def slot_dtype(num_anchors: int) -> type[np.signedinteger]:
    """Return the smallest integers torch can index with after a cast: two bytes up to 32,768 anchors."""
    return np.int16 if num_anchors - 1 <= LARGEST_SMALL else np.int32


def spread_slots(
    num_rows: int, num_anchors: int, num_slots: int, random_state: RandomState
) -> Integer[np.ndarray, "V S"]:
    """Return distinct anchors per row, one drawn from each of S equal stretches of the anchors.

    >>> spread_slots(2, 3, 3, 0).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    generator = numpy_generator(random_state)
    bounds = np.linspace(0, num_anchors, num_slots + 1).astype(np.int64)
    slots = np.empty((num_rows, num_slots), dtype=slot_dtype(num_anchors))
    for slot, (low, high) in enumerate(pairwise(bounds)):
        slots[:, slot] = generator.integers(low, high, size=num_rows)
    return slots


def slots_from_csr(
    transform: sparse.csr_array, num_slots: int, random_state: RandomState = 0
) -> tuple[Integer[np.ndarray, "V S"], Float32[np.ndarray, "V S"]]:
    """Return slots and weights that hold the entries of `transform` (V, K); free slots get anchors at random."""
    num_rows, num_anchors = transform.shape
    fullest = int(np.diff(transform.indptr).max(initial=0))
    if fullest > num_slots:
        raise ValueError(f"transform must have at most {num_slots} entries in a row, got {fullest}")
    slots = np.empty((num_rows, num_slots), dtype=slot_dtype(num_anchors))
    values = np.zeros((num_rows, num_slots), dtype=np.float32)
    first = numpy_generator(random_state).integers(0, num_anchors, size=num_rows)
    fill_slots(
        transform.indptr, transform.indices, transform.data.astype(np.float32), num_anchors, first, slots, values
    )
    return slots, values


def csr_from_slots(
    slots: Integer[np.ndarray, "V S"], values: Float32[np.ndarray, "V S"], num_anchors: int
) -> sparse.csr_array:
    """Return T (V, K) with the nonzero weights alone, columns sorted within a row."""
    kept = values != 0
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    transform = sparse.csr_array((values[kept], slots[kept].astype(np.int32), indptr), shape=(len(slots), num_anchors))
    transform.sort_indices()
    return transform
