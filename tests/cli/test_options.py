"""`key=value`: JSON where it can be, text otherwise, and a sentence for what is neither."""

from __future__ import annotations

import pytest

from gossamer.cli.options import parse_columns, parse_pairs, parse_settings


def test_values_are_json_or_text() -> None:
    pairs = ["a=1", "b=1e-3", "c=true", "d=null", "e=[1,2]", "f=text", "g=a=b", "h=", 'i="7"']
    assert parse_settings(pairs) == {
        "a": 1,
        "b": 0.001,
        "c": True,
        "d": None,
        "e": [1, 2],
        "f": "text",
        "g": "a=b",
        "h": "",
        "i": "7",
    }
    assert parse_settings(None) == {}


@pytest.mark.parametrize("pair", ["l2", "=3", ""])
def test_a_pair_needs_both_sides(pair: str) -> None:
    with pytest.raises(ValueError, match=f"--set must be key=value, got '{pair}'"):
        parse_settings([pair])


def test_a_key_is_given_once() -> None:
    with pytest.raises(ValueError, match="--set must give 'a' once, got it twice"):
        parse_pairs("--set", ["a=1", "a=2"])


def test_columns_have_roles() -> None:
    assert parse_columns(["user=userId", "time=ts"]) == {"user": "userId", "time": "ts"}
    roles = "user, item, rating, time, text, label, document, term, count, sequence, category, state"
    with pytest.raises(ValueError, match=f"--columns must name {roles}, got 'movie'"):
        parse_columns(["movie=movieId"])
