"""Budgets: shares and absolute numbers, several at once."""

from __future__ import annotations

import pytest

from gossamer.models.lowrank import Budget

ORIGINAL = {"macs": 1001.0, "params": 200.0, "bytes": 800.0, "milliseconds": 3.0}


def test_shares_are_rounded_down_and_absolute_numbers_stand():
    limits = Budget(macs=0.5, params=120, milliseconds=0.75).limits(ORIGINAL)
    assert limits == {"macs": 500.0, "params": 120.0, "milliseconds": 2.25}
    assert Budget(bytes=1).limits(ORIGINAL) == {"bytes": 800.0}


def test_an_empty_budget_is_refused():
    with pytest.raises(ValueError, match="budget must have at least one of macs, params, bytes, milliseconds"):
        Budget()


@pytest.mark.parametrize("value", [0, -1, float("nan"), "half"])
def test_nonsense_is_named(value):
    with pytest.raises(ValueError, match="budget params must be a finite number > 0, got"):
        Budget(params=value)


def test_shares_of_the_open_layers_leave_the_rest_as_it_is():
    layers = {"macs": 401.0, "params": 100.0, "bytes": 400.0}
    budget = Budget(macs=0.5, params=0.25, bytes=500, milliseconds=2, of="layers")
    limits = budget.limits(ORIGINAL, layers)
    assert limits == {"macs": 800.0, "params": 125.0, "bytes": 500.0, "milliseconds": 2.0}


def test_strange_wholes_are_named():
    with pytest.raises(ValueError, match="budget of must be one of 'model', 'layers', got 'lstm'"):
        Budget(params=0.5, of="lstm")
    with pytest.raises(
        ValueError, match=r"budget milliseconds must be a share of the model, .*, got 0.5 of the layers"
    ):
        Budget(milliseconds=0.5, of="layers")


def test_a_share_of_time_is_told_from_milliseconds():
    assert Budget(milliseconds=0.75).time_share == 0.75
    assert Budget(milliseconds=7.5).time_share is None
    assert Budget(macs=0.5).time_share is None
