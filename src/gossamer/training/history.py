"""What happened during training, and when to stop."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from gossamer.core.checks import check_choice, check_int


@dataclass
class History:
    """One dict of named values per epoch ("epoch", the step's mean scalars, the validation's values), and how it ended.

    Epochs count from 0, so `history.epochs[history.best_epoch]` is the best one; `best_epoch` is None where nothing
    was monitored. `seconds` adds up over resumed runs.
    """

    epochs: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int | None = None
    stopped_early: bool = False
    steps: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the history as plain lists, dicts and numbers, ready for JSON."""
        return asdict(self)


class EarlyStopping:
    """Watches one named value per epoch and says when `patience` epochs have passed without a better one.

    >>> watch = EarlyStopping("loss", "min", patience=2)
    >>> watch.is_best(0, {"loss": 1.0}), watch.is_best(1, {"loss": 2.0}), watch.is_over(1), watch.is_over(2)
    (True, False, False, True)
    """

    def __init__(self, monitor: str, mode: str = "min", patience: int | None = None) -> None:
        self.monitor = monitor
        self.mode = check_choice("mode", mode, ["min", "max"])
        self.patience = None if patience is None else check_int("patience", patience, at_least=1)
        self.best: float | None = None
        self.best_epoch: int | None = None

    def is_best(self, epoch: int, values: dict[str, float]) -> bool:
        """Take note of an epoch's values and say whether it is the best so far; the first of equals wins."""
        if self.monitor not in values:
            raise ValueError(f"monitor must be one of {', '.join(map(repr, values))}, got {self.monitor!r}")
        value = values[self.monitor]
        if not math.isfinite(value):
            raise FloatingPointError(f"{self.monitor} is {value} after epoch {epoch}: nothing to compare")
        sign = 1.0 if self.mode == "min" else -1.0
        if self.best is not None and sign * value >= sign * self.best:
            return False
        self.best, self.best_epoch = value, epoch
        return True

    def is_over(self, epoch: int) -> bool:
        """Say whether patience has run out after `epoch`."""
        return self.patience is not None and self.best_epoch is not None and epoch - self.best_epoch >= self.patience
