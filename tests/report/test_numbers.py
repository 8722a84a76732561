from __future__ import annotations

import math

import pytest

from gossamer.report.numbers import format_bytes, format_number, format_seconds, format_share, shared_decimals


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (-1200, "−1,200"),
        (0.0, "0.00"),
        (-0.25, "−0.2500"),
        (1234.5, "1,234"),
        (1e-9, "1e-09"),
        (1e20, "1e+20"),
        (math.nan, "–"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_format_number(value, written):
    assert format_number(value) == written


def test_a_column_shares_its_decimals_but_nothing_is_rounded_to_zero():
    decimals = shared_decimals([123.456, 0.001, math.nan])
    assert decimals == 1
    assert [format_number(value, decimals) for value in (123.456, 0.001, 0.0)] == ["123.5", "0.001", "0.0"]


def test_shared_decimals_of_nothing():
    assert shared_decimals([]) == shared_decimals([0.0, math.nan, math.inf]) == 2


@pytest.mark.parametrize(
    ("count", "written"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (3 << 30, "3.0 GiB"), (5 << 50, "5,120.0 TiB"), (math.nan, "–")],
)
def test_format_bytes(count, written):
    assert format_bytes(count) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0, "0 ms"), (0.5, "500 ms"), (59.9, "59.9 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (math.nan, "–")],
)
def test_format_seconds(seconds, written):
    assert format_seconds(seconds) == written


@pytest.mark.parametrize(
    ("share", "written"), [(0, "0 %"), (1, "100.0 %"), (0.018, "1.80 %"), (0.0000123, "0.0012 %"), (math.nan, "–")]
)
def test_format_share(share, written):
    assert format_share(share) == written
