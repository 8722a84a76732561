"""Plain arrays with targets: images with classes, feature tables with many labels, vectors with words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gossamer.data.content import Rows, fingerprint, read_only, row_numbers
from gossamer.data.shown import Shown


@dataclass(frozen=True, eq=False)
class LabelledArrays(Shown):
    """Immutable inputs with one row per example, and optional targets: classes (N,) or a 0/1 table (N, L).

    >>> data = LabelledArrays(np.zeros((3, 28, 28), dtype=np.uint8), np.array([7, 2, 1]))
    >>> len(data[:2])
    2
    """

    inputs: np.ndarray
    targets: np.ndarray | None = None
    input_names: Sequence[str] | None = None
    target_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        inputs = np.asarray(self.inputs)
        if inputs.ndim < 1 or inputs.dtype.kind not in "iufb":
            raise ValueError(f"inputs must be a numeric array, got {inputs.dtype} {inputs.shape}")
        if inputs.dtype.kind == "f" and not np.isfinite(inputs).all():
            row = int(np.argwhere(~np.isfinite(inputs))[0][0])
            raise ValueError(f"inputs must be finite, got NaN or infinity in row {row}")
        object.__setattr__(self, "inputs", read_only(inputs))
        if self.targets is not None:
            targets = np.asarray(self.targets)
            if len(targets) != len(inputs):
                raise ValueError(f"targets must have {len(inputs)} rows, got {len(targets)}")
            object.__setattr__(self, "targets", read_only(targets))

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        targets = "" if self.targets is None else f", targets {self.targets.shape}"
        return f"LabelledArrays(inputs {self.inputs.dtype} {self.inputs.shape}{targets})"

    def __getitem__(self, rows: Rows) -> LabelledArrays:
        """Return a subset of the examples."""
        chosen = row_numbers(rows, len(self))
        targets = None if self.targets is None else self.targets[chosen]
        return LabelledArrays(self.inputs[chosen], targets, self.input_names, self.target_names)

    def describe(self) -> dict[str, Any]:
        """Return the numbers a person wants to see first."""
        summary: dict[str, Any] = {"examples": len(self), "input_shape": list(self.inputs.shape[1:])}
        if self.targets is not None:
            summary["target_shape"] = list(self.targets.shape[1:])
        if self.target_names is not None:
            summary["classes"] = len(self.target_names)
        return summary

    def fingerprint(self) -> str:
        """Return a SHA-256 of inputs, targets and names."""
        return fingerprint(self.inputs, self.targets, self.input_names, self.target_names)
