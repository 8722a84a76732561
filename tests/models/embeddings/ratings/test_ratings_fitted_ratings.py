from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import pytest

from gossamer.data.interactions import Interactions
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.ratings.fitted_ratings import FittedRatings, ratings_of
from gossamer.models.embeddings.ratings.rating_model import RatingModel, SparseBiases
from gossamer.testing.contracts import two_blocks


class Guess(FittedRatings):
    """Random vectors, so that there is something to predict with."""

    def fit(self, data: Interactions) -> Self:
        self.users_, self.items_, self.history_ = data.users, data.items, {"epochs": []}
        users, items = (AnchorEmbedding(len(ids), 2, 3) for ids in (data.users, data.items))
        nothing = SparseBiases.of(np.zeros(0))
        self.model_ = RatingModel(3.0, users, items, nothing, nothing)
        return self


def test_unknown_users_and_items_get_the_mean_and_known_ones_their_vectors():
    model = Guess().fit(two_blocks().history)
    pairs = Interactions.from_pairs(["user 1", "nobody"], ["b2", "b2"])
    user, item = model.users_.index_of(["user 1"])[0], model.items_.index_of(["b2"])[0]
    expected = 3 + float(model.model_.users.weight[user] @ model.model_.items.weight[item])
    assert sorted(model.predict(pairs)) == pytest.approx(sorted([expected, 3.0]), rel=1e-5)


def test_values_and_bytes_are_those_of_the_arrays():
    model = Guess().fit(two_blocks().history)
    assert model.num_values() == 1 + model.model_.users.num_values() + model.model_.items.num_values()
    assert model.num_bytes() == sum(array.nbytes for array in model.learned_arrays().values())


def test_the_report_compares_with_dense_tables_and_counts_entries():
    model = Guess().fit(two_blocks().history)
    report = model.size_report()
    assert report["dense_values"] == 2 * (len(model.users_) + len(model.items_))
    assert (report["values"], report["bytes"]) == (model.num_values(), model.num_bytes())
    assert report["ratio"] == report["dense_values"] / report["values"]
    assert {name: len(counts) for name, counts in model.entries_per_row().items()} == {
        "users": len(model.users_),
        "items": len(model.items_),
    }
    assert model.entries_per_row()["items"].sum() == model.model_.items.nnz()


def test_what_is_learned_can_be_taken_back(tmp_path: Path):
    held_out = two_blocks()
    first, second = Guess().fit(held_out.history), Guess()
    second._take_back("ant", first.learned_arrays(), first.learned_vocabularies(), first.learned_metadata())
    np.testing.assert_allclose(second.predict(held_out.target), first.predict(held_out.target), rtol=1e-6)
    assert second.evaluate(held_out) == pytest.approx(first.evaluate(held_out))


def test_data_without_ratings_are_refused():
    with pytest.raises(ValueError, match=r"^data must have at least one interaction with a rating, got none$"):
        ratings_of(Interactions.from_pairs(["a"], ["x"]))
    with pytest.raises(ValueError, match=r"^data must be Interactions, got list$"):
        ratings_of([1, 2])
