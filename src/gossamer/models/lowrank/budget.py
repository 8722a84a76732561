"""What a compressed network may cost: absolute, or as a share of what the original costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.core.checks import check_choice, check_real

COSTS = ("macs", "params", "bytes", "milliseconds")
WHOLES = ("model", "layers")  # what a share is a share of


@dataclass(frozen=True)
class Budget:
    """Limits that a compressed network never exceeds; at least one, any number together.

    A value up to 1 is a share of the original's cost, a larger one is absolute. `macs` are multiply-adds per example,
    `params` and `bytes` what is stored, `milliseconds` the measured time of a batch on this machine; a share of a
    millisecond is written as share, so time budgets below one millisecond can only be shares.

    Shares are of the whole model, or, with `of="layers"`, of the layers that `only` and `keep` leave open: all else
    costs what it costs. Half of an LSTM's weights, its embedding untouched, is Budget(params=0.5, of="layers").

    >>> Budget(macs=0.5, params=100_000).limits({"macs": 4000.0, "params": 500_000.0})
    {'macs': 2000.0, 'params': 100000.0}
    >>> Budget(macs=0.5, of="layers").limits({"macs": 4000.0}, {"macs": 1000.0})
    {'macs': 3500.0}
    >>> Budget(macs=1000).limits({"macs": 4000.0}, rows=3)
    {'macs': 3000.0}
    """

    macs: float | None = None
    params: float | None = None
    bytes: float | None = None
    milliseconds: float | None = None
    of: str = "model"

    def __post_init__(self) -> None:
        if not self.names:
            raise ValueError(f"budget must have at least one of {', '.join(COSTS)}, got none")
        for name in self.names:
            check_real(f"budget {name}", getattr(self, name), above=0)
        check_choice("budget of", self.of, WHOLES)
        if self.of == "layers" and self.milliseconds is not None and self.milliseconds <= 1:
            raise ValueError(
                "budget milliseconds must be a share of the model, or above 1, because the network is timed as a "
                f"whole, got {self.milliseconds!r} of the layers"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The costs that are limited."""
        return tuple(name for name in COSTS if getattr(self, name) is not None)

    @property
    def time_share(self) -> float | None:
        """The share of the original's time that is asked for; None where no time is, or milliseconds are."""
        return self.milliseconds if self.milliseconds is not None and self.milliseconds <= 1 else None

    def limits(
        self, original: dict[str, float], layers: dict[str, float] | None = None, rows: int = 1
    ) -> dict[str, float]:
        """Return the absolute limits for a network that costs `original`; whole numbers except for time.

        Costs, and the limits, are those of a batch of `rows` examples. `layers` is what the layers that may be split
        cost together, for shares of them.
        """
        of = original if self.of == "model" or layers is None else layers
        found = {}
        for name in self.names:
            value = float(getattr(self, name))
            if value <= 1 and name in of:
                limit = value * of[name] + (original[name] - of[name])
            else:
                limit = value * rows if name == "macs" else value
            found[name] = limit if name == "milliseconds" else float(np.floor(limit + 1e-9))
        return found


def check_budget(budget: object) -> None:
    """Refuse what is no budget."""
    if not isinstance(budget, Budget):
        raise ValueError(f"budget must be a Budget, such as Budget(macs=0.5), got {budget!r}")


def check_met(after: dict[str, float], limits: dict[str, float]) -> None:
    """Say so where a network that was built costs more than was promised of it."""
    for name in ("macs", "params", "bytes"):
        if name in limits and after[name] > limits[name]:
            raise ValueError(
                f"budget {name} is exceeded, {after[name]:,.0f} of {limits[name]:,.0f}, because a weight is used "
                "outside of the layer that holds it; name that layer in keep"
            )


def per_example(costs: dict[str, float], rows: int) -> dict[str, float]:
    """Return costs of a batch of `rows` with the multiply-adds of one of them.

    >>> per_example({"macs": 80.0, "params": 3.0}, 4)
    {'macs': 20.0, 'params': 3.0}
    """
    return {name: value / rows if name == "macs" else value for name, value in costs.items() if name in COSTS}
