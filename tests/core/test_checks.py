from __future__ import annotations

import numpy as np
import pytest

from gossamer.core.checks import check_bool, check_choice, check_int, check_real


def test_valid_values_come_back_as_plain_numbers():
    assert type(check_int("n", np.int64(3), at_least=1, at_most=3)) is int
    assert type(check_real("x", np.float32(0.5), above=0, below=1)) is float
    assert check_real("x", 1, at_least=1, at_most=1) == 1.0
    assert check_choice("mode", "min", ("min", "max")) == "min"


@pytest.mark.parametrize(
    ("value", "bounds", "text"),
    [
        (0, {"at_least": 1}, "n must be an integer >= 1, got 0"),
        (9, {"at_least": 1, "at_most": 8}, "n must be an integer >= 1 and <= 8, got 9"),
        (1.0, {}, "n must be an integer, got 1.0"),
        (True, {}, "n must be an integer, got True"),
        ("1", {}, "n must be an integer, got '1'"),
    ],
)
def test_check_int_names_argument_constraint_and_value(value, bounds, text):
    with pytest.raises(ValueError, match=f"^{text}$"):
        check_int("n", value, **bounds)


@pytest.mark.parametrize(
    ("value", "bounds", "text"),
    [
        (float("nan"), {}, "x must be a finite number, got nan"),
        (float("inf"), {"above": 0}, "x must be a finite number > 0, got inf"),
        (0, {"above": 0}, "x must be a finite number > 0, got 0"),
        (1.0, {"at_least": 0, "below": 1}, "x must be a finite number >= 0 and < 1, got 1.0"),
        (2, {"at_most": 1}, "x must be a finite number <= 1, got 2"),
        (-1, {"at_least": 0}, "x must be a finite number >= 0, got -1"),
        (False, {}, "x must be a finite number, got False"),
        (None, {}, "x must be a finite number, got None"),
    ],
)
def test_check_real_names_argument_constraint_and_value(value, bounds, text):
    with pytest.raises(ValueError, match=f"^{text}$"):
        check_real("x", value, **bounds)


def test_check_choice_lists_what_there_is():
    with pytest.raises(ValueError, match=r"^mode must be one of 'min', 'max', got None$"):
        check_choice("mode", None, ["min", "max"])


@pytest.mark.parametrize("value", ["false", 0, None])
def test_check_bool_takes_nothing_but_bools(value):
    assert check_bool("weighted", True) is True
    with pytest.raises(ValueError, match=f"^weighted must be True or False, got {value!r}$"):
        check_bool("weighted", value)
