"""Lists of groups and opened groups have what the groups have."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from explorer_samples import NAMES

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.group_views import list_group_sets, list_salient, open_group, spread_name


def test_a_list_has_every_group_with_size_title_and_place(known):
    (found,) = list_group_sets(known["topics"])
    groups = known["topics"].groups[0]
    assert (found.title, found.noun, found.has_shares) == ("Topics of terms", "topic", True)
    assert [one.label for one in found.groups] == list(groups.labels)
    np.testing.assert_allclose([one.size for one in found.groups], groups.sizes)
    np.testing.assert_allclose([(one.x, one.y) for one in found.groups], groups.places(), rtol=1e-5)


@pytest.mark.parametrize("name", ["anchors", "communities", "topics", "codes", "phases", "index"])
def test_every_group_opens_and_is_json(known, name):
    for found in list_group_sets(known[name]):
        for one in found.groups:
            opened = open_group(known[name], found.key, one.number, 5)
            json.dumps(asdict(opened), allow_nan=False)
            assert opened.title == one.title
            assert len(opened.members) <= 5


def test_members_come_with_their_share_here_and_everywhere(known):
    opened = open_group(known["phases"], "phases", 0, 3, 1.0)
    groups = known["phases"].groups[0]
    rows = groups.members(0, 3, 1.0)
    assert [one.name for one in opened.members] == [known["phases"].name_of("events", row) for row in rows]
    np.testing.assert_allclose([one.within for one in opened.members], groups.probs[0, rows])
    np.testing.assert_allclose([one.overall for one in opened.members], groups.base[rows])
    assert "mean duration, steps" in opened.facts


def test_a_name_over_all_groups_and_what_tells_them_apart(known):
    spread = spread_name(known["phases"], "phases", NAMES[0])
    assert len(spread.shares) == 2
    assert sum(spread.shares) == pytest.approx(1)
    together = list_salient(known["phases"], "phases", 5)
    salience = known["phases"].groups[0].salience()
    assert [one.weight for one in together.members] == sorted(salience, reverse=True)[:5]
    with pytest.raises(NotFound, match="is not among the 20 events"):
        spread_name(known["phases"], "phases", "absent")
    with pytest.raises(NotFound, match="have weights and no shares"):
        list_salient(known["communities"], "communities-items")


@pytest.mark.parametrize("number", [-1, 4, 10**30])
def test_numbers_that_do_not_exist(known, number):
    with pytest.raises(NotFound, match="There is no topic number"):
        open_group(known["topics"], "topics", number)
