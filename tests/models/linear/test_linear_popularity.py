from __future__ import annotations

from gossamer.data.interactions import Interactions
from gossamer.models.linear import Popularity

DATA = Interactions.from_pairs(["a", "b", "c", "c"], ["tea", "tea", "jam", "egg"], rating=[1, 1, 5, 1])


def test_items_are_ranked_by_users_and_ties_by_index():
    assert Popularity().fit(DATA).recommend(DATA[:1], n=3, exclude_seen=False).items.tolist() == [[0, 1, 2]]


def test_weighted_items_are_ranked_by_the_sum_of_ratings():
    model = Popularity(weighted=True).fit(DATA)
    answer = model.recommend(DATA[:1], n=3, exclude_seen=False)
    assert answer.items.tolist() == [[1, 0, 2]]
    assert answer.scores.tolist() == [[5, 2, 1]]


def test_explanation_names_the_most_popular():
    assert Popularity().fit(DATA).explain(1) == {"most popular": [{"item": "tea", "users": 2.0}]}
