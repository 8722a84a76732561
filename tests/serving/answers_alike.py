"""Answers compared: names as they are, numbers up to the last digits of single precision."""

from __future__ import annotations

from typing import Any

import pytest


def assert_alike(answer: Any, expected: Any, absolute: float = 1e-6) -> None:
    """Fail unless two answers say the same; sums of a product may be added in another order."""
    if isinstance(expected, dict):
        assert answer.keys() == expected.keys()
        for key, value in expected.items():
            assert_alike(answer[key], value, absolute)
    elif isinstance(expected, list):
        assert len(answer) == len(expected)
        for one, other in zip(answer, expected, strict=True):
            assert_alike(one, other, absolute)
    else:
        assert answer == (pytest.approx(expected, rel=1e-4, abs=absolute) if isinstance(expected, float) else expected)
