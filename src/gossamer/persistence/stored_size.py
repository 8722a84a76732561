"""How much a fitted model stores: what an artifact of it must hold."""

from __future__ import annotations

from typing import Any

import numpy as np


def stored_size(estimator: Any) -> tuple[int, int]:
    """Return how many numbers a fitted model stores and its bytes.

    Indices of sparse matrices count as bytes, not as values; a model that knows better has `num_values()` and
    `num_bytes()`.
    """
    arrays: dict[str, np.ndarray] = estimator.learned_arrays()
    num_values = sum(array.size for array in arrays.values() if array.dtype.kind == "f")
    if hasattr(estimator, "num_values"):
        num_values = int(estimator.num_values())
    num_bytes = sum(array.nbytes for array in arrays.values())
    if hasattr(estimator, "num_bytes"):
        num_bytes = int(estimator.num_bytes())
    return num_values, num_bytes
