"""Which settings of an estimator are worth trying: plain ranges, declared beside its constructor as `SEARCH_SPACE`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gossamer.core.checks import check_bool, check_int, check_real


@dataclass(frozen=True)
class Real:
    """Numbers from `low` to `high`; `log` draws as many between 1 and 10 as between 10 and 100.

    >>> Real(0.001, 0.1, log=True).contains(0.01), Real(0, 1).contains(2)
    (True, False)
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        low = check_real("low", self.low, above=0 if check_bool("log", self.log) else None)
        check_real("high", self.high, above=low)

    def contains(self, value: object) -> bool:
        """Say whether a value lies in the range."""
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True)
class Integer:
    """Whole numbers from `low` to `high`, both included; `log` as for `Real`."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        low = check_int("low", self.low, at_least=1 if check_bool("log", self.log) else None)
        check_int("high", self.high, at_least=low + 1)

    def contains(self, value: object) -> bool:
        """Say whether a value lies in the range."""
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True)
class Choice:
    """One of a few JSON-able values without an order, such as names, True and False, or widths of layers."""

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.options, tuple) or not self.options:
            raise ValueError(f"options must be a tuple of at least one value, got {self.options!r}")

    def contains(self, value: object) -> bool:
        """Say whether a value is one of the options; True is not 1 here."""
        return any(type(value) is type(option) and value == option for option in self.options)


Range: TypeAlias = Real | Integer | Choice


@dataclass(frozen=True)
class SearchSpace:
    """What `gossamer tune` tries for one estimator, and the validation metric that chooses.

    Every name is an argument of the constructor. `fixed` are settings that a search wants otherwise than a single fit,
    such as a `patience`, without which the loop measures nothing between epochs. Whatever the caller sets comes first.
    """

    metric: str
    ranges: Mapping[str, Range] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
