"""Colours of a map: the groups of a name, quarters of frequency, or none."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.serving.explorer.colouring import colour_choices, colour_points

ROWS = np.arange(20)


def test_choices_are_what_the_model_knows(known):
    assert [one.key for one in colour_choices(known["als"], "items")] == ["none", "frequency"]
    assert [one.key for one in colour_choices(known["anchors"], "users")] == ["anchors-users", "none"]
    assert [one.key for one in colour_choices(known["phases"], "events")] == ["phases", "none", "frequency"]


def test_quarters_hold_the_most_frequent_first(known):
    found = colour_points(known["als"], "items", ROWS, "frequency")
    counts = np.asarray(known["als"].frequencies["items"])
    assert found.is_amount
    assert len(found.legend) == found.colours.max() + 1
    for one, other in zip(range(found.colours.max()), range(1, found.colours.max() + 1), strict=True):
        assert counts[found.colours == one].min() > counts[found.colours == other].max()


def test_the_usual_one_is_a_group_where_there_are_any(known):
    assert colour_points(known["phases"], "events", ROWS).key == "phases"
    assert colour_points(known["als"], "items", ROWS).colours is None
    with pytest.raises(ValueError, match="colour must be one of 'none', 'frequency', got 'phases'"):
        colour_points(known["als"], "items", ROWS, "phases")
