"""Two models side by side: what differs, what is better, what both answer."""

from __future__ import annotations

import pytest
from explorer_samples import NAMES

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.about import about
from gossamer.serving.explorer.comparison import answer_both, compare


def test_settings_sizes_and_metrics(known):
    found = compare(known["als"], known["ease"])
    assert (found.left_class, found.right_class) == ("ALS", "EASE")
    settings = {one.name: one for one in found.settings}
    assert settings["num_factors"].right is None
    assert settings["num_factors"].differs
    assert not settings["weighted"].differs
    sizes = {one.name: one for one in found.sizes}
    assert sizes["values"].better == "left"
    metrics = {one.name: one for one in found.metrics}
    assert (metrics["recall@20"].left, metrics["recall@20"].right, metrics["recall@20"].better) == (0.6, 0.5, "left")
    assert (metrics["test_mse"].right, metrics["test_mse"].better) == (None, "")
    assert found.shared_kinds == ["items"]


def test_a_model_equals_itself(known):
    found = compare(known["als"], known["als"])
    assert not any(one.differs for one in found.settings)
    assert {one.better for one in [*found.sizes, *found.metrics]} == {""}


def test_both_answer_and_what_they_share_is_named(known):
    found = answer_both(known["als"], known["ease"], "items", NAMES[0])
    assert found.left == about(known["als"], "items", NAMES[0])
    assert found.right == about(known["ease"], "items", NAMES[0])
    named = [{row.name for one in side.rankings for row in one.rows} for side in (found.left, found.right)]
    assert found.shared == sorted(named[0] & named[1])


def test_a_name_may_be_of_another_kind_in_the_other_model(known):
    found = answer_both(known["als"], known["topics"], "items", NAMES[0])
    assert found.right.kind == "terms"


def test_one_may_not_know_it(known):
    found = answer_both(known["als"], known["network"], "items", NAMES[0])
    assert found.right is None
    assert "does not know" in found.right_note
    with pytest.raises(NotFound, match="Neither model knows"):
        answer_both(known["als"], known["ease"], "items", "absent")
