from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.item_ranker import values_of
from gossamer.models.linear import EASE, Popularity
from gossamer.testing.contracts import two_blocks


def test_a_target_the_model_does_not_know_is_a_miss():
    """Leaving unknown targets out would let a model that knows fewer items look better."""
    held_out = two_blocks()
    known = EASE(regularization=1.0).fit(held_out.history)
    names = [*held_out.history.items.ids.to_list(), "new"]
    users = held_out.target.users.ids.to_list()
    items = [held_out.target.items[item] for item in held_out.target.indices]
    both = Interactions.from_pairs(
        users + users,
        items + ["new"] * len(users),
        user_ids=held_out.target.users,
        item_ids=Vocabulary(names),
    )
    with_new = HeldOut(held_out.history.aligned_to(Vocabulary(names)), both)
    assert known.evaluate(held_out)["recall@20"] == 1.0
    assert known.evaluate(with_new)["recall@20"] == 0.5


def test_held_out_data_in_another_order_of_items_measures_the_same():
    held_out = two_blocks()
    model = EASE(regularization=1.0).fit(held_out.history)
    turned = Vocabulary(held_out.history.items.ids.reverse())
    other = HeldOut(held_out.history.aligned_to(turned), held_out.target.aligned_to(turned))
    assert model.evaluate(other) == model.evaluate(held_out)
    assert other.over_items(model.items_).history.items == model.items_
    assert held_out.over_items(model.items_) is held_out


def test_only_held_out_data_are_judged():
    model = Popularity().fit(two_blocks().history)
    with pytest.raises(ValueError, match=r"^data must be HeldOut, got Interactions; build it with HeldOut\("):
        model.evaluate(two_blocks().history)  # type: ignore[arg-type]
    untargeted = two_blocks().target.keep(np.zeros(two_blocks().target.nnz, dtype=bool))
    with pytest.raises(ValueError, match=r"^data must have at least one target interaction, got 0$"):
        model.evaluate(HeldOut(two_blocks().history, untargeted))


def test_evaluation_has_the_three_usual_measures():
    held_out = two_blocks()
    measured = Popularity().fit(held_out.history).evaluate(held_out)
    assert list(measured) == ["recall@20", "recall@50", "ndcg@100"]


def test_weights_need_ratings_that_are_not_negative():
    unrated = Interactions.from_pairs(["a"], ["x"])
    with pytest.raises(ValueError, match=r"^weighted must be False where data has no rating, got True$"):
        Popularity(weighted=True).fit(unrated)
    negative = Interactions.from_pairs(["a"], ["x"], rating=[-2.0])
    with pytest.raises(ValueError, match=r"^rating must be >= 0 to count as a weight, got -2\.0$"):
        Popularity(weighted=True).fit(negative)
    np.testing.assert_array_equal(values_of(negative, False).data, [1.0])


def test_data_without_interactions_are_refused():
    empty = two_blocks().history.keep(np.zeros(120, dtype=bool))
    with pytest.raises(ValueError, match=r"^data must have at least one interaction, got 0$"):
        Popularity().fit(empty)
