"""Recommendations with names, for users of the data and for people who bring their own items."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from scipy import sparse

from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.parts import Parts
from gossamer.data.vocabulary import Vocabulary
from gossamer.runner.answers import (
    document_row,
    history_of_items,
    history_of_user,
    item_names,
    recommended,
    user_row,
)
from gossamer.runner.estimators import make_estimator
from gossamer.runner.provenance import Origin
from gossamer.runner.specs import DataSpec, SplitSpec


@pytest.fixture
def data() -> Interactions:
    users = ["ann"] * 3 + ["bob"] * 3 + ["cy"] * 2
    items = [1, 2, 3, 1, 2, 4, 1, 2]
    titles = pl.DataFrame({"title": ["One", "Two", "Three", "Four"]})
    return Interactions.from_pairs(users, items, item_features=titles)


def test_a_user_of_the_data_gets_unseen_items_with_titles(data: Interactions) -> None:
    model = make_estimator("popularity", {}, seed=0).fit(data)
    rows = recommended(model, user_row(data, "cy"), 10)
    assert [(row["item"], row["title"]) for row in rows] == [(3, "Three"), (4, "Four")]
    assert all(isinstance(row["score"], float) for row in rows)
    with pytest.raises(ValueError, match="user must be one of the 3 known ones, for example 'ann', got 'dee'"):
        user_row(data, "dee")
    with pytest.raises(ValueError, match="n must be an integer >= 1, got 0"):
        recommended(model, user_row(data, "cy"), 0)


def test_somebody_new_brings_items_as_text(data: Interactions) -> None:
    model = make_estimator("popularity", {}, seed=0).fit(data)
    history = history_of_items(model, ["2", "1", "2"])
    assert history.nnz == 2
    assert [row["item"] for row in recommended(model, history, 1)] == [3]
    with pytest.raises(ValueError, match="history item must be one of the 4 known ones, for example 1, got '9'"):
        history_of_items(model, ["9"])


def test_a_user_is_found_through_the_artifacts_memory(blocks_file: Path) -> None:
    origin = Origin("ease", DataSpec(str(blocks_file)), SplitSpec("users", seed=0), None)
    assert history_of_user({"provenance": origin.as_json()}, "u3").nnz == 5


def test_a_document_is_found_by_its_id_and_answered_with_terms() -> None:
    data = Counts(
        sparse.csr_array([[2, 0, 1], [0, 3, 1]]), Vocabulary(["ham", "vote", "the"]), Vocabulary(["menu", "news"])
    )
    settings = {"latent_dim": 1, "encoder_dims": [2], "epochs": 1}
    model = make_estimator("count-vae", settings, seed=0).fit(data)
    rows = recommended(model, document_row(data, "menu"), 5)
    assert [row["item"] for row in rows] == ["vote"]
    assert rows[0]["score"] < 0
    assert [row["item"] for row in recommended(model, history_of_items(model, ["vote", "the"]), 5)] == ["ham"]
    with pytest.raises(ValueError, match="user must be one of the 2 known ones, for example 'menu', got 'poem'"):
        document_row(data, "poem")
    for nameless in (Counts(data.matrix, data.terms), Parts(data, None, data)):
        with pytest.raises(ValueError, match="user must be left out for data whose rows have no names, got 'menu'"):
            document_row(nameless, "menu")


def test_a_model_that_does_not_recommend_says_so() -> None:
    with pytest.raises(ValueError, match="the model must recommend, which object does not do"):
        history_of_items(object(), ["x"])


def test_items_are_named_by_title_or_id(data: Interactions) -> None:
    assert item_names(user_row(data, "bob")) == ["One", "Two", "Four"]
    untitled = Interactions(data.users, data.items, data.indptr, data.indices)
    assert item_names(user_row(untitled, "bob")) == ["1", "2", "4"]
