"""A compression report read back from a file: JSON that must be what the report's dataclasses declare."""

from __future__ import annotations

import json
import reprlib
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from gossamer.core.checks import check_choice
from gossamer.models.lowrank.matrices import SCHEMES
from gossamer.models.lowrank.pruning import PRUNE
from gossamer.models.lowrank.report import CompressionReport
from gossamer.persistence import ArtifactError

NEEDED_COSTS = ("macs", "params")  # those that a report's table shows
AGAIN = "copy or save it again"


def read_report(path: Path) -> CompressionReport:
    """Return the report of a file that anyone may have written, each value checked against its declared type."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{path} must be JSON, got: {one_line(error)}; {AGAIN}") from error
    misfit = _misfit("", values, CompressionReport)
    if misfit is not None:
        raise ArtifactError(f"{path} must be the report that save_compressed wrote, got {misfit}; {AGAIN}")
    try:
        check_choice("scheme", values["scheme"], (*SCHEMES, PRUNE))
        for when in ("before", "after"):
            for cost in NEEDED_COSTS:
                if cost not in values[when]:
                    raise ValueError(f"{when} must have {cost}, got {reprlib.repr(values[when])}")
        return CompressionReport.from_json(values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(
            f"{path} must be the report that save_compressed wrote, got: {one_line(error)}; {AGAIN}"
        ) from error


def _misfit(place: str, value: Any, kind: Any) -> str | None:
    """Say where a value that was read from JSON is not what a dataclass declares, or None where all is as it says."""
    origin, inner = get_origin(kind), get_args(kind)
    parts: list[tuple[str, Any, Any]] = []
    if is_dataclass(kind):
        fits = isinstance(value, dict)
        if fits:
            named = {one.name: one for one in fields(kind)}
            for name, one in named.items():
                if name not in value and one.default is MISSING and one.default_factory is MISSING:
                    return f"no {_joined(place, name)}"
            if unknown := sorted(set(value) - set(named)):
                return f"{_joined(place, unknown[0])}, which this version does not know"
            hints = get_type_hints(kind)
            parts = [(_joined(place, name), part, hints[name]) for name, part in value.items()]
    elif origin in (Union, UnionType):
        fits = any(_misfit(place, value, one) is None for one in inner)
    elif origin is tuple:
        is_long = inner[-1] is Ellipsis
        fits = isinstance(value, list) and (is_long or len(value) == len(inner))
        if fits:
            kinds = inner[:1] * len(value) if is_long else inner
            parts = [(f"{place}[{i}]", *pair) for i, pair in enumerate(zip(value, kinds, strict=True))]
    elif origin is dict:
        fits = isinstance(value, dict)
        parts = [(_joined(place, key), part, inner[1]) for key, part in value.items()] if fits else []
    else:
        fits = kind is Any or type(value) is kind or (kind is float and type(value) is int)
    if not fits:
        return f"{reprlib.repr(value)} as {place or 'its content'}"
    return next(filter(None, (_misfit(*part) for part in parts)), None)


def _joined(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def one_line(error: BaseException) -> str:
    """Return an error's message without line breaks, and without the number of one of the system's."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__
