"""Checks of arguments that answer with one sentence: name, constraint, value."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable


def check_int(name: str, value: object, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """Return `value` as an int, or raise a ValueError that names argument, constraint and value.

    >>> check_int("epochs", 0, at_least=1)
    Traceback (most recent call last):
    ValueError: epochs must be an integer >= 1, got 0
    """
    wanted = "an integer" + _range_text(at_least=at_least, at_most=at_most)
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if (
        not is_integer
        or (at_least is not None and int(value) < at_least)  # type: ignore[call-overload]
        or (at_most is not None and int(value) > at_most)  # type: ignore[call-overload]
    ):
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def check_real(
    name: str,
    value: object,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """Return `value` as a finite float inside the bounds, or raise a ValueError that says what was wrong.

    >>> check_real("l2", float("nan"), above=0)
    Traceback (most recent call last):
    ValueError: l2 must be a finite number > 0, got nan
    """
    wanted = "a finite number" + _range_text(at_least=at_least, at_most=at_most, above=above, below=below)
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    number = float(value)
    if (
        (at_least is not None and number < at_least)
        or (at_most is not None and number > at_most)
        or (above is not None and number <= above)
        or (below is not None and number >= below)
    ):
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return number


def check_bool(name: str, value: object) -> bool:
    """Return `value` if it is a bool, else raise a ValueError; "false" and 0 are mistakes, not answers.

    >>> check_bool("weighted", "false")
    Traceback (most recent call last):
    ValueError: weighted must be True or False, got 'false'
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return value


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`, else raise a ValueError that lists them.

    >>> check_choice("mode", "up", ["min", "max"])
    Traceback (most recent call last):
    ValueError: mode must be one of 'min', 'max', got 'up'
    """
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    return value


def _range_text(
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> str:
    bounds = [(">=", at_least), (">", above), ("<=", at_most), ("<", below)]
    parts = [f"{sign} {bound}" for sign, bound in bounds if bound is not None]
    return " " + " and ".join(parts) if parts else ""
