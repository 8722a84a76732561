"""From an estimator's search space, and what the caller wants otherwise, to the settings of one trial."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

from gossamer.core.search_space import Choice, Integer, Range, Real, SearchSpace
from gossamer.runner.estimators import find_class
from gossamer.runner.specs import check_keys

DIGITS = 4  # of a real setting: more would be noise in a file that people read


class Suggester(Protocol):
    """The part of an optuna trial that draws settings."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """Draw a real number."""

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """Draw a whole number."""

    def suggest_categorical(self, name: str, choices: list[str]) -> str:
        """Draw one of a few texts."""


def space_of(model: str) -> SearchSpace:
    """Return the search space that a model declares.

    >>> sorted(space_of("slim").ranges)
    ['l1', 'l2']
    """
    space = getattr(find_class(model), "SEARCH_SPACE", None)
    if not isinstance(space, SearchSpace):
        raise ValueError(f"model must be one that declares what to try, got {model!r}")
    return space


def merge_space(model: str, settings: Mapping[str, Any], tried: Mapping[str, Any]) -> SearchSpace:
    """Return the model's space with what the caller fixes (`settings`) and wants tried instead (`tried`).

    A value of `tried` is a list of choices, or a table of `low`, `high` and, where it is true, `log`.
    """
    declared = space_of(model)
    known = list(inspect.signature(find_class(model)).parameters)
    check_keys(model, {**settings, **tried}, known, noun="setting")
    both = sorted(set(settings) & set(tried))
    if both:
        raise ValueError(f"{both[0]!r} must be set or tried, not both")
    own = {name: range for name, range in declared.ranges.items() if name not in settings}
    ranges = own | {name: parse_range(name, value) for name, value in tried.items()}
    fixed = {name: value for name, value in declared.fixed.items() if name not in ranges} | dict(settings)
    if not ranges:
        raise ValueError(f"{model} must have a setting left to try, got none; name one with --try")
    return SearchSpace(declared.metric, ranges, fixed)


def parse_range(name: str, value: Any) -> Range:
    """Read a range as a command line gives it: a list of choices, or `low`, `high` and `log`.

    >>> parse_range("l2", {"low": 1, "high": 100, "log": True})
    Integer(low=1, high=100, log=True)
    """
    if isinstance(value, list) and value:
        return Choice(tuple(value))
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be tried as a list of values or as a table of low and high, got {value!r}")
    check_keys(name, value, ["low", "high", "log"], required=["low", "high"])
    is_whole = all(isinstance(value[end], int) for end in ("low", "high"))
    try:
        return (Integer if is_whole else Real)(**value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def suggest(trial: Suggester, space: SearchSpace) -> dict[str, Any]:
    """Draw every setting of a space, in its order, and return them with the fixed ones."""
    drawn: dict[str, Any] = {}
    for name, range in space.ranges.items():
        if isinstance(range, Choice):
            # Text, because optuna stores no lists.
            drawn[name] = json.loads(trial.suggest_categorical(name, [json.dumps(one) for one in range.options]))
        elif isinstance(range, Integer):
            drawn[name] = trial.suggest_int(name, range.low, range.high, log=range.log)
        else:
            drawn[name] = float(f"{trial.suggest_float(name, range.low, range.high, log=range.log):.{DIGITS}g}")
    return {**space.fixed, **drawn}


def defaults_in(model: str, space: SearchSpace) -> dict[str, Any]:
    """Return the model's own defaults, as `suggest` would draw them, where they lie in the space."""
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(find_class(model)).parameters.items():
        range = space.ranges.get(name)
        default = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
        if range is not None and range.contains(default):
            found[name] = json.dumps(default) if isinstance(range, Choice) else default
    return found


def describe_space(space: SearchSpace) -> dict[str, Any]:
    """Return the ranges as plain JSON, as a study remembers them."""
    described: dict[str, Any] = json.loads(json.dumps({name: asdict(range) for name, range in space.ranges.items()}))
    return described
