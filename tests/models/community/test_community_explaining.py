"""Explanations: communities are the planted halves, and the parts of a score add up."""

from __future__ import annotations

import pytest
from tiny_community import fitted


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


def test_methods_without_communities_say_so() -> None:
    model = fitted(method="graphsage", epochs=3)
    assert "communities" not in model.explain(2)
    with pytest.raises(ValueError, match="method must be one with communities, such as 'bihgnn', got 'graphsage'"):
        model.communities()
    with pytest.raises(ValueError, match="user"):
        model.explain(2, user="nobody")
