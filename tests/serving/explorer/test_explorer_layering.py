"""Rows by the longest way, nothing on top of anything else, and lanes for arrows that pass by."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from gossamer.serving.explorer.layering import LANE, layered


def test_rows_are_longest_ways_and_long_arrows_have_lanes():
    places, paths = layered(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert [row for _, row in places] == [0, 1, 2, 3]
    assert [len(path) for path in paths] == [0, 0, 0, 2]
    assert [row for _, row in paths[3]] == [1, 2]
    for column, row in paths[3]:
        assert abs(column - places[row][0]) >= (1 + LANE) / 2 - 1e-6


def test_nothing_overlaps_in_any_graph():
    generator = np.random.default_rng(0)
    for _ in range(20):
        count = int(generator.integers(2, 30))
        arrows = [(int(generator.integers(0, target)), target) for target in range(1, count) for _ in range(2)]
        arrows = list(dict.fromkeys(arrows))
        places, paths = layered(count, arrows)
        assert all(places[source][1] < places[target][1] for source, target in arrows)
        sized = [(*place, 1.0) for place in places] + [(*place, LANE) for path in paths for place in path]
        for (x, y, width), (other_x, other_y, other_width) in combinations(sized, 2):
            assert y != other_y or abs(x - other_x) >= (width + other_width) / 2 - 2e-3
        assert min(x for x, _, _ in sized) == 0


def test_crossed_arrows_are_uncrossed():
    places, _ = layered(4, [(0, 3), (1, 2)])
    assert (places[0][0] < places[1][0]) == (places[3][0] < places[2][0])


def test_nothing_and_what_goes_back():
    assert layered(0, []) == ([], [])
    with pytest.raises(ValueError, match="arrows must go from smaller numbers to larger ones below 2, got"):
        layered(2, [(1, 0)])
