"""JSON without surprises: finite numbers, unique keys, bounded nesting, the same text for the same content."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from typing import NoReturn, TypeAlias

import numpy as np

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

MAX_DEPTH = 64  # far below Python's recursion limit, far above any configuration

_ALLOWED = "None, a bool, an int, a finite float, a string, or a list or dict of them"


def plain_json(name: str, value: object, depth: int = MAX_DEPTH) -> JSON:
    """Return `value` as plain JSON types, or raise a ValueError that says where inside `name` it is not.

    Tuples become lists and numpy scalars Python numbers; nothing else is converted.

    >>> plain_json("shape", (np.int64(2), 3.5))
    [2, 3.5]
    >>> plain_json("arguments", {"rate": float("nan")})
    Traceback (most recent call last):
    ValueError: arguments['rate'] must be finite to be stored as JSON, got nan
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _checked_text(name, value)
    if isinstance(value, int):
        if abs(value) >= 1 << 64:
            raise ValueError(f"{name} must fit 64 bits to be stored as JSON, got an int of {value.bit_length()}")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite to be stored as JSON, got {float(value)}")
        return float(value)
    if isinstance(value, list | tuple | Mapping) and depth == 0:
        raise ValueError(f"{name} must be nested at most {MAX_DEPTH} deep to be stored as JSON")
    if isinstance(value, list | tuple):
        return [plain_json(f"{name}[{i}]", element, depth - 1) for i, element in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"{name} must have strings as keys to be stored as JSON, got {key!r}")
            _checked_text(f"a key of {name}", key)
        return {key: plain_json(f"{name}[{key!r}]", element, depth - 1) for key, element in value.items()}
    raise ValueError(f"{name} must be {_ALLOWED}, to be stored as JSON, got {reprlib.repr(value)}")


def _checked_text(name: str, text: str) -> str:
    """Refuse lone surrogates, which Python's strings can hold and no UTF-8 file can."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{name} must be text to be stored as JSON, got {text[:80]!a}") from None
    return text


def canonical_json(value: JSON) -> str:
    """Return the one text of `value` that checksums are taken of: sorted keys, ASCII, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_json(content: bytes) -> JSON:
    """Parse UTF-8 JSON; NaN, infinities, repeated keys and deep nesting are ValueErrors."""
    try:
        value: JSON = json.loads(
            content.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            object_pairs_hook=_unique_keys,
        )
        return value
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"it holds {text}, which is not JSON")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"it holds {text[:40]}, which is too large for a float")
    return value


def _unique_keys(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"it holds the key {repeated!r} twice")
    return mapping
