"""JSON that comes back as it went, or is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.persistence.strict_json import canonical_json, parse_json, plain_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 2**64, 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(value=PLAIN)
def test_plain_values_survive_exactly(value: Any) -> None:
    text = canonical_json(plain_json("value", value))
    assert repr(parse_json(text.encode())) == repr(parse_json(canonical_json(parse_json(text.encode())).encode()))
    assert parse_json(text.encode()) == value


def test_equal_content_has_one_text() -> None:
    assert canonical_json({"b": [1, 2.5], "a": "ä"}) == canonical_json(parse_json(b'{"a" : "\\u00e4", "b":[1,2.50]}'))


def test_numpy_scalars_and_tuples_become_plain() -> None:
    plain = plain_json("value", (np.int32(1), np.float32(0.5), np.bool_(True), np.str_("a"), np.float64(2)))
    assert plain == [1, 0.5, True, "a", 2.0]
    assert isinstance(plain, list)
    assert [type(element) for element in plain] == [int, float, bool, str, float]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "value must be finite to be stored as JSON, got nan"),
        ({"a": [math.inf]}, r"value\['a'\]\[0\] must be finite to be stored as JSON, got inf"),
        ({1: 2}, "value must have strings as keys to be stored as JSON, got 1"),
        ({"\ud800": 2}, "a key of value must be text to be stored as JSON"),
        (b"bytes", "value must be None, a bool, an int, a finite float, a string, or a list or dict"),
        (np.zeros(2), "value must be None, a bool"),
        (-(1 << 64), "value must fit 64 bits to be stored as JSON, got an int of 65"),
    ],
)
def test_everything_else_is_refused_by_name(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plain_json("value", value)


def test_nesting_ends_somewhere() -> None:
    nested: Any = 0
    for _ in range(64):
        nested = [nested]
    plain_json("value", nested)
    with pytest.raises(ValueError, match="must be nested at most 64 deep to be stored as JSON"):
        plain_json("value", [nested])
