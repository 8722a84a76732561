"""New items: from features and users, beside those that were trained."""

from __future__ import annotations

import numpy as np
import polars as pl
from tiny_community import fitted, two_tastes

from gossamer.data.interactions import Interactions
from gossamer.models.community.new_items import add_items


def test_new_items_join_the_catalogue_from_features_and_users() -> None:
    model = fitted(epochs=25, id_dropout=0.3)
    users = [f"u{user}" for user in range(0, 20, 2)]
    new = Interactions.from_pairs([*users, "nobody"], ["fresh"] * 11, item_features=pl.DataFrame({"kinds": [["x"]]}))
    larger = add_items(model, new)
    assert (len(larger.items_), len(model.items_)) == (13, 12), "the model itself is as it was"
    answer = larger.recommend(two_tastes()[:2], n=13, exclude_seen=False)
    ranks = [answer.items[user].tolist().index(12) for user in range(2)]
    assert ranks[0] < ranks[1], "an item of kind x is for those who like x"
    np.testing.assert_allclose(larger.item_vectors_[:12], model.item_vectors_)
    assert larger.with_new_items(new) is larger
