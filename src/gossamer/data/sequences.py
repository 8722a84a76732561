"""Ragged series of observations, with optional features per series and true states per step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gossamer.data.content import Rows, check_offsets, fingerprint, ragged_take, read_only, row_numbers
from gossamer.data.shown import Shown
from gossamer.data.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Sequences(Shown):
    """Immutable ragged observations: `observations[offsets[i]:offsets[i + 1]]` is series i.

    Observations are events (integers, one per step; -1 marks a missing one) or vectors (float32, T × D; NaN marks a
    missing entry); `vocabulary` names the events, or the D dimensions. `features` has one row per series, `states` one
    true state per step.

    >>> data = Sequences(np.zeros((5, 2)), np.array([0, 2, 5]))
    >>> len(data), data.lengths.tolist()
    (2, [2, 3])
    """

    observations: np.ndarray
    offsets: np.ndarray
    features: np.ndarray | None = None
    states: np.ndarray | None = None
    vocabulary: Vocabulary | None = None
    names: Vocabulary | None = None

    def __post_init__(self) -> None:
        offsets = check_offsets("offsets", self.offsets, len(self.observations))
        object.__setattr__(self, "offsets", read_only(offsets))
        object.__setattr__(self, "observations", read_only(self._checked_observations()))
        if self.features is not None:
            features = np.asarray(self.features, dtype=np.float32)
            if features.ndim != 2 or len(features) != len(self) or not np.isfinite(features).all():
                raise ValueError(f"features must be a finite matrix with {len(self)} rows, got shape {features.shape}")
            object.__setattr__(self, "features", read_only(features))
        if self.states is not None:
            states = np.asarray(self.states)
            wrong_shape = states.shape != (len(self.observations),) or states.dtype.kind not in "iu"
            if wrong_shape or (states.size and states.min() < 0):
                raise ValueError(
                    f"states must be {len(self.observations)} integers >= 0, got {states.dtype} {states.shape}"
                )
            object.__setattr__(self, "states", read_only(states.astype(np.int32, copy=False)))
        if self.names is not None and len(self.names) != len(self):
            raise ValueError(f"names must be {len(self)} ids, got {len(self.names)}")

    def _checked_observations(self) -> np.ndarray:
        array = np.asarray(self.observations)
        if array.ndim == 1 and array.dtype.kind in "iu":
            limit = None if self.vocabulary is None else len(self.vocabulary)
            if array.size and (array.min() < -1 or (limit is not None and array.max() >= limit)):
                worst = array.min() if array.min() < -1 else array.max()
                raise ValueError(f"observations must be event numbers in 0 … {limit or '…'} or -1, got {worst}")
            return array.astype(np.int32, copy=False)
        if array.ndim != 2 or array.dtype.kind not in "iuf":
            raise ValueError(
                f"observations must be a vector of event numbers or a matrix of reals, got {array.dtype} {array.shape}"
            )
        if self.vocabulary is not None and len(self.vocabulary) != array.shape[1]:
            raise ValueError(f"vocabulary must name {array.shape[1]} dimensions, got {len(self.vocabulary)} names")
        if np.isinf(array).any():
            raise ValueError("observations must be finite or NaN (missing), got an infinite value")
        return array.astype(np.float32, copy=False)

    @property
    def lengths(self) -> np.ndarray:
        """The number of steps of every series."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Sequences({len(self):,} series, {len(self.observations):,} steps)"

    def __getitem__(self, rows: Rows) -> Sequences:
        """Return a subset of the series."""
        chosen = row_numbers(rows, len(self))
        offsets, positions = ragged_take(self.offsets, chosen)
        return Sequences(
            observations=self.observations[positions],
            offsets=offsets,
            features=None if self.features is None else self.features[chosen],
            states=None if self.states is None else self.states[positions],
            vocabulary=self.vocabulary,
            names=None if self.names is None else self.names.take(chosen),
        )

    def describe(self) -> dict[str, Any]:
        """Return the numbers a person wants to see first."""
        summary: dict[str, Any] = {
            "series": len(self),
            "steps": len(self.observations),
            "median_length": float(np.median(self.lengths)) if len(self) else 0.0,
            "longest": int(self.lengths.max(initial=0)),
        }
        if self.features is not None:
            summary["features"] = self.features.shape[1]
        if self.observations.ndim == 1:
            summary["events"] = int(self.observations.max(initial=-1)) + 1
            if self.vocabulary is not None:
                summary["events"] = len(self.vocabulary)
            summary["missing"] = int((self.observations < 0).sum())
        else:
            summary["dimensions"] = self.observations.shape[1]
            summary["missing"] = int(np.isnan(self.observations).sum())
        return summary

    def fingerprint(self) -> str:
        """Return a SHA-256 of everything that is stored."""
        return fingerprint(self.vocabulary, self.observations, self.offsets, self.features, self.states)
