"""What a compressed network may cost: absolute, or as a share of what the original costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.core.checks import check_real

COSTS = ("macs", "params", "bytes", "milliseconds")


@dataclass(frozen=True)
class Budget:
    """Limits that a compressed network never exceeds; at least one, any number together.

    A value up to 1 is a share of the original's cost, a larger one is absolute. `macs` are multiply-adds per example,
    `params` and `bytes` what is stored, `milliseconds` the measured time of a batch on this machine; a share of a
    millisecond is written as share, so time budgets below one millisecond can only be shares.

    >>> Budget(macs=0.5, params=100_000).limits({"macs": 4000.0, "params": 500_000.0})
    {'macs': 2000.0, 'params': 100000.0}
    """

    macs: float | None = None
    params: float | None = None
    bytes: float | None = None
    milliseconds: float | None = None

    def __post_init__(self) -> None:
        if not self.names:
            raise ValueError(f"budget must have at least one of {', '.join(COSTS)}, got none")
        for name in self.names:
            check_real(f"budget {name}", getattr(self, name), above=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The costs that are limited."""
        return tuple(name for name in COSTS if getattr(self, name) is not None)

    def limits(self, original: dict[str, float]) -> dict[str, float]:
        """Return the absolute limits for a network that costs `original`; whole numbers except for time."""
        found = {}
        for name in self.names:
            value = float(getattr(self, name))
            limit = value * original[name] if value <= 1 else value
            found[name] = limit if name == "milliseconds" else float(np.floor(limit + 1e-9))
        return found
