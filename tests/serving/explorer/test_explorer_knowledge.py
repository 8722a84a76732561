"""What is known of a model is worked out once, also by many at a time, and names are people's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from explorer_samples import halves

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.about import about
from gossamer.serving.explorer.knowledge import Knowledge
from gossamer.serving.loading import load_model


def test_each_answer_is_worked_out_once_and_through_ask(folder):
    asked = []

    def ask(question):
        asked.append(question)
        return question()

    knowledge = Knowledge(load_model(folder / "communities"), ask)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: knowledge.groups, range(8)))
    assert all(one is found[0] for one in found)
    assert len(asked) == 1
    assert knowledge.projected("items", "pca", np.arange(20)) is knowledge.projected("items", "pca", np.arange(20))


@pytest.mark.parametrize(("kind", "name"), [("items", "absent"), ("spoons", "a"), ("items", "")])
def test_unknown_names_are_said_to_be_unknown(known, kind, name):
    with pytest.raises(NotFound, match=r"This model has no|is not among the 20"):
        known["als"].index_of(kind, name)


def test_unknown_groups_are_said_to_be_unknown(known):
    with pytest.raises(NotFound, match="it has topics"):
        known["topics"].find_group_set("anchors")


def test_titles_name_members(known):
    groups = known["phases"].groups[0]
    for title in known["phases"].titles(groups):
        assert len(title.split(", ")) == 3


def test_users_and_titles_come_from_histories(folder):
    data = halves()
    titles = ["Apple", *(f"Thing {number}" for number in range(18)), "Apple"]
    features = pl.DataFrame({"title": titles})
    model = replace(load_model(folder / "ease"), histories=replace(data, item_features=features))
    knowledge = Knowledge(model)
    assert knowledge.vocabularies["items"][1] == "Thing 0"
    assert knowledge.vocabularies["items"][0] == "Apple (fruit.apple0)"
    found = about(knowledge, "users", "user3", 5)
    (ranking,) = found.rankings
    expected = model.estimator.recommend(data[3:4], 5).items[0]
    assert [row.name for row in ranking.rows] == [knowledge.name_of("items", item) for item in expected]
    assert ranking.title == "Recommended"
