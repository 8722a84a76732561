"""Items held out: training does not know them, held-out parts know their features."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from gossamer.data.interactions import Interactions
from gossamer.data.splits import split_items


def data() -> Interactions:
    users, items = np.nonzero(np.random.default_rng(0).random((20, 30)) < 0.4)
    features = pl.DataFrame({"number": np.unique(items)})
    return Interactions.from_pairs(users, items, item_features=features)


def test_every_pair_is_in_one_part_and_held_out_items_are_new() -> None:
    whole = data()
    split = split_items(whole, random_state=1)
    assert split.valid is not None
    assert split.train.num_items == 24
    assert split.train.nnz + split.valid.target.nnz + split.test.target.nnz == whole.nnz
    for held_out in (split.valid, split.test):
        new = held_out.target.items.take(np.unique(held_out.target.indices))
        assert (split.train.items.find(new.ids) < 0).all()
        assert held_out.history.nnz == split.train.nnz
        assert held_out.history.item_features is not None
        assert held_out.history.item_features.height == whole.num_items
    assert split.description["kind"] == "items"
    assert split_items(whole, random_state=1).train.fingerprint() == split.train.fingerprint()


def test_something_must_be_left() -> None:
    with pytest.raises(ValueError, match="must leave training items among the 30, got 18 and 12"):
        split_items(data(), valid_share=0.6, test_share=0.4)
    few = data().keep(np.arange(data().nnz) < 1)
    with pytest.raises(ValueError, match="interactions must be with training, validation and test items"):
        split_items(few)
