"""Ranges of settings: what lies in them, and what is no range."""

from __future__ import annotations

import pytest

from gossamer.core.search_space import Choice, Integer, Real


def test_values_lie_in_their_range_and_true_is_no_number() -> None:
    assert [Real(0, 1).contains(value) for value in (0, 0.5, 1, 1.5, True, "a", None)] == [True] * 3 + [False] * 4
    assert [Integer(1, 3).contains(value) for value in (1, 3, 4, 2.0, True)] == [True, True, False, False, False]
    assert [Choice((1, "a", [2])).contains(value) for value in (1, "a", [2], True, None)] == [True] * 3 + [False] * 2


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Real(1, 1), "high must be a finite number > 1.0, got 1"),
        (lambda: Real(0, 1, log=True), "low must be a finite number > 0, got 0"),
        (lambda: Integer(0, 3, log=True), "low must be an integer >= 1, got 0"),
        (lambda: Integer(3, 3), "high must be an integer >= 4, got 3"),
        (lambda: Choice(()), "options must be a tuple of at least one value, got ()"),
    ],
)
def test_what_is_no_range_is_named(make, problem, unchecked_shapes) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == problem
