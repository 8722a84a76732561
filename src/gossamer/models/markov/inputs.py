"""What estimators take: `Sequences`, or a matrix with lengths as hmmlearn does; missing values as NaN or by a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Int64

from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.markov.emissions import Emission
from gossamer.models.markov.together import add_up

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing


class Batch(NamedTuple):
    """Observations as an emission takes them, where sequences begin, and what is known about them."""

    values: np.ndarray
    offsets: Int64[np.ndarray, " B+1"]
    vocabulary: Vocabulary | None = None
    states: np.ndarray | None = None
    names: Vocabulary | None = None
    features: np.ndarray | None = None

    def name_of(self, series: int) -> str:
        """Return what a series is called: its id, or its number where it has none."""
        return str(series) if self.names is None else repr(self.names[series])

    @property
    def is_missing(self) -> np.ndarray:
        """Which steps have no observation at all."""
        return self.values < 0 if self.values.ndim == 1 else np.isnan(self.values).all(axis=1)


def read_batch(
    data: Any,
    emission: Emission,
    *,
    lengths: Any = None,
    missing: Any = None,
    size: int | None = None,
    vocabulary: Vocabulary | None = None,
) -> Batch:
    """Return observations for `emission`, or raise a ValueError that says what is wrong with them.

    `missing` (N) or (N, D) is True where a value is missing. `size` and `vocabulary` are those of a fitted model.
    """
    if isinstance(data, Sequences):
        if lengths is not None:
            raise ValueError(f"lengths must be left out for Sequences, which have their own, got {lengths!r}")
        values, offsets, names, states = data.observations, data.offsets, data.vocabulary, data.states
    elif isinstance(data, np.ndarray | list):
        values = np.asarray(data)
        if values.ndim not in (1, 2) or values.dtype.kind not in "iufb":
            raise ValueError(f"data must be a matrix or vector of numbers, got {values.dtype} {values.shape}")
        offsets, names, states = _offsets_of(lengths, len(values)), None, None
    else:
        raise ValueError(f"data must be Sequences, got {type(data).__name__}; or a matrix, with lengths")
    if vocabulary is not None and names is not None and names != vocabulary:
        values = _renumbered(values, names, vocabulary)
    mask = None if missing is None else _checked_mask(missing, values)
    if values.ndim == 1 and values.dtype.kind in "iu" and isinstance(data, Sequences) and (values < 0).any():
        mask = values < 0 if mask is None else mask | (values < 0)
    named, features = (data.names, data.features) if isinstance(data, Sequences) else (None, None)
    checked = emission.check(values, mask, size)
    names = names if checked.ndim == values.ndim else None  # a column of numbers that are categories names none of them
    return Batch(checked, np.asarray(offsets, dtype=np.int64), names, states, named, features)


def check_for_fit(batch: Batch, num_states: int, tied: bool, sharing: Sharing | None = None) -> None:
    """Raise a ValueError unless there are sequences with something to learn from."""
    lengths = np.diff(batch.offsets)
    if len(lengths) == 0:
        raise ValueError("data must have at least one series, got none")
    if lengths.min() < 2:
        short = int(np.flatnonzero(lengths < 2)[0])
        raise ValueError(
            f"every series must have at least two steps, got {lengths[short]} in series "
            f"{batch.name_of(short)}; leave it out"
        )
    seen = np.diff(np.concatenate([[0], np.cumsum(~batch.is_missing)])[batch.offsets])
    if seen.min() == 0:
        empty = int(np.flatnonzero(seen == 0)[0])
        raise ValueError(
            f"every series must have an observed step, got {lengths[empty]} missing ones (NaN) in series "
            f"{batch.name_of(empty)}"
        )
    fewest = int(add_up(np.array([seen.sum()]), sharing)[0] if tied else seen.min())
    if num_states > fewest:
        where = "" if tied else ", that one series has"
        raise ValueError(f"num_states must be at most the number of observed steps, {fewest}{where}, got {num_states}")


def _offsets_of(lengths: Any, num_steps: int) -> np.ndarray:
    if lengths is None:
        return np.array([0, num_steps])
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(f"lengths must be a list of integers >= 1, got {lengths!r}")
    if sizes.sum() != num_steps:
        raise ValueError(f"lengths must add up to the {num_steps} rows of data, got a sum of {sizes.sum()}")
    return np.concatenate([[0], np.cumsum(sizes)])


def _checked_mask(missing: Any, values: np.ndarray) -> np.ndarray:
    mask = np.asarray(missing)
    if mask.dtype != bool or mask.shape not in (values.shape, values.shape[:1]):
        raise ValueError(
            f"missing must be True or False for every step or value, shape {values.shape[:1]} or {values.shape}, "
            f"got {mask.dtype} {mask.shape}"
        )
    return mask


def _renumbered(values: np.ndarray, names: Vocabulary, vocabulary: Vocabulary) -> np.ndarray:
    """Return events, or dimensions, by the model's own numbers; a ValueError names one it has not seen."""
    if values.ndim != 1:
        order = names.find(vocabulary.ids)
        if (order < 0).any() or len(names) != len(vocabulary):
            wanted, given = (", ".join(map(str, known)) for known in (vocabulary, names))
            raise ValueError(f"data must have the dimensions {wanted}, as those of the fit have, got {given}")
        ordered: np.ndarray = values[:, order]
        return ordered
    place = np.append(vocabulary.find(names.ids), -1)  # -1, a missing event, stays what it is
    unseen = np.flatnonzero((place[:-1] < 0) & (np.bincount(values[values >= 0], minlength=len(names)) > 0))
    if len(unseen):
        raise ValueError(
            f"data must have only events that the model was fitted on, got the unseen event {names[int(unseen[0])]!r}"
        )
    renumbered: np.ndarray = place[values]
    return renumbered
