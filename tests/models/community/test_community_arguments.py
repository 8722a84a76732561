"""Arguments that contradict each other, or the data, are named."""

from __future__ import annotations

import pytest
from tiny_community import SETTINGS, two_tastes

from gossamer.models.community import CommunityRecommender


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_communities": 8}, r"num_communities must be below embedding_dim \(8\), .*, got 8"),
        ({"num_communities": 0}, "num_communities must be an integer >= 1, got 0"),
        ({"user_features": {"taste": "text"}}, r"user_features\['taste'\] must be one of .*, got 'text'"),
        ({"item_features": {"year": "numeric"}}, r"item_features must name columns of the table .*, got 'year'"),
        ({"half_life_days": 0.0}, "half_life_days must be a finite number > 0, got 0.0"),
        ({"num_communities": 7, "embedding_dim": 8, "epochs": 1, "warmup_epochs": 0}, None),
    ],
)
def test_arguments(settings: dict, message: str | None) -> None:
    model = CommunityRecommender(**SETTINGS | settings)
    if message is None:
        assert model.fit(two_tastes()).num_communities_ == 7
        return
    with pytest.raises(ValueError, match=message):
        model.fit(two_tastes())


def test_more_communities_than_users_are_refused() -> None:
    with pytest.raises(ValueError, match="num_communities must be at most the number of users, 4, got 5"):
        CommunityRecommender(**SETTINGS | {"num_communities": 5, "warmup_epochs": 0}).fit(two_tastes()[:4])
