"""From what a caller has (LabelledArrays, or X and y) to standardised columns and a checked 0/1 table of labels."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from gossamer.data.arrays import LabelledArrays
from gossamer.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Scaler:
    """Columns with zero mean and unit variance, by the numbers of the training rows; constant columns become 0."""

    mean: Float[np.ndarray, " D"]
    scale: Float[np.ndarray, " D"]

    @classmethod
    def fit(cls, inputs: Float[np.ndarray, "N D"], sharing: Sharing | None = None) -> Self:
        """Learn mean and standard deviation, of all processes' rows; constant columns are said once, in the log."""
        mean = _mean_of_all(inputs, sharing)
        scale = np.sqrt(_mean_of_all(np.square(inputs - mean), sharing))
        is_constant = scale <= 1e-12 * np.maximum(1, np.abs(mean))
        if is_constant.any():
            logger.warning(
                "%d of %d columns are constant in training: they tell nothing and count as 0",
                is_constant.sum(),
                len(scale),
            )
        return cls(mean, np.where(is_constant, np.inf, scale))

    def __call__(self, inputs: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """Return standardised float32 columns."""
        scaled: np.ndarray = ((inputs - self.mean) / self.scale).astype(np.float32)
        return scaled


def _mean_of_all(values: Float[np.ndarray, "N D"], sharing: Sharing | None) -> Float[np.ndarray, " D"]:
    own: np.ndarray = values.mean(axis=0, dtype=np.float64)
    return own if sharing is None else sharing.mean_array(own, len(values))


def read_inputs(estimator: BaseEstimator, data: Any, *, reset: bool, name: str = "data") -> Float[np.ndarray, "N D"]:
    """Return the rows of `data`, flattened; `reset` is scikit-learn's word for "learn the number of columns"."""
    if isinstance(data, LabelledArrays):
        given: Any = data.inputs.reshape(len(data), -1)
    elif isinstance(data, list | tuple) or hasattr(data, "__array__") or hasattr(data, "toarray"):
        given = data
    else:
        raise ValueError(
            f"{name} must be LabelledArrays, got {type(data).__name__}; an array or a table and `y` will do, too"
        )
    values: np.ndarray = validate_data(
        estimator, given, dtype=[np.float64, np.float32], ensure_all_finite=False, reset=reset
    )
    is_bad = ~np.isfinite(values)
    if is_bad.any():
        row, column = np.argwhere(is_bad)[0]
        value = "NaN" if np.isnan(values[row, column]) else "inf"
        raise ValueError(f"{name} must hold finite values, got {value} in row {row}, column {column}")
    return values


def read_labels(data: Any, y: Any, num_rows: int) -> tuple[Int[np.ndarray, "N K"], Vocabulary]:
    """Return the labels as 0 and 1 and their names: those of LabelledArrays, or `y` with numbers for names."""
    names = None
    if isinstance(data, LabelledArrays):
        y, names = data.targets, data.target_names
    if y is None:
        # scikit-learn's own words, which its checks look for
        raise ValueError("data must come with labels, got none: requires y to be passed, but the target y is None")
    labels = check_labels("y" if not isinstance(data, LabelledArrays) else "labels", y)
    if len(labels) != num_rows:
        raise ValueError(f"y must have one row of labels for each of {num_rows} rows of data, got {len(labels)}")
    return labels, Vocabulary.numbered(labels.shape[1]) if names is None else Vocabulary(list(names))


def check_labels(name: str, y: Any) -> Int[np.ndarray, "N K"]:
    """Return a table of 0 and 1, or say where there is something else."""
    table = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(
            f"{name} must be a table of 0 and 1 with a column per label, got shape {table.shape}"
            ". Unknown label type: one class or number per row"  # scikit-learn's own words, which its checks look for
        )
    if table.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold only 0 and 1, got values of type {table.dtype}")
    is_bad = (table != 0) & (table != 1)
    if is_bad.any():
        row, column = np.argwhere(is_bad)[0]
        raise ValueError(
            f"{name} must hold only 0 and 1, got {table[row, column]} in row {row}, column {column}"
            ". Unknown label type: not 0 or 1"
        )
    return table.astype(np.int64)
