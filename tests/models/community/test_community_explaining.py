"""Explanations: communities are the planted halves, and the parts of a score add up."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from tiny_community import fitted, two_tastes

from gossamer.data.vocabulary import Vocabulary


def test_communities_are_the_two_tastes() -> None:
    rows = fitted().communities(4)
    assert [row["members"] for row in rows] == [20, 20]
    for row in rows:
        assert len({int(user[1:]) % 2 for user in row["typical members"]}) == 1
        assert len({int(item[1:]) // 6 for item in row["typical items"]}) == 1
    assert sum(row["share of weight"] for row in rows) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("settings", [{}, {"hidden_dim": 4, "epochs": 3}, {"method": "graphsage", "epochs": 3}])
def test_parts_of_a_score_add_up(settings: dict) -> None:
    tables = fitted(**settings).explain(3, user="u4")
    assert len(tables["recommended"]) == 3
    for row in tables["recommended"]:
        parts = sum(row[name] for name in ("popularity", "community", "individual", "full", "together") if name in row)
        assert parts == pytest.approx(row["score"], abs=1e-4)
    if settings.get("hidden_dim") is None:
        assert all(abs(row["together"]) < 1e-4 for row in tables["recommended"])
    speakers = tables["items of the history that speak loudest for the first"]
    assert 1 <= len(speakers) <= 3
    assert abs(speakers[0]["adds"]) >= abs(speakers[-1]["adds"])


def test_what_is_explained_is_what_is_recommended_whoever_asks() -> None:
    model, data = fitted(), two_tastes()
    for row in (3, 4, 11):
        tables = model.explain(4, user=f"u{row}")
        items = model.recommend(data[row : row + 1], 4).items[0]
        assert [line["item"] for line in tables["recommended"]] == [model.items_[int(item)] for item in items]
        by_history = model.explain(4, history=data[row : row + 1])
        assert by_history.keys() == tables.keys()
        for name in tables:
            pd.testing.assert_frame_equal(pd.DataFrame(by_history[name]), pd.DataFrame(tables[name]), atol=1e-5)


def test_a_user_of_a_history_need_not_be_known() -> None:
    model, data = fitted(), two_tastes()
    new = replace(data[:3], users=Vocabulary(["ann", "bob", "cid"]))
    assert model.explain(2, user="bob", history=new) == model.explain(2, history=data[1:2])
    with pytest.raises(ValueError, match="user must be named where history has several, got None for 3 users"):
        model.explain(2, history=new)
    with pytest.raises(ValueError, match="user"):
        model.explain(2, user="u0", history=new)


def test_methods_without_communities_say_so() -> None:
    model = fitted(method="graphsage", epochs=3)
    assert "communities" not in model.explain(2)
    with pytest.raises(ValueError, match="method must be one with communities, such as 'bihgnn', got 'graphsage'"):
        model.communities()
    with pytest.raises(ValueError, match="user"):
        model.explain(2, user="nobody")
