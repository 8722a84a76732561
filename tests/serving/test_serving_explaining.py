from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.community import CommunityRecommender
from gossamer.persistence import Artifact
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.explaining import explain, plain, speakers
from gossamer.serving.loading import LoadedModel
from gossamer.testing.right_answers import two_blocks


def test_tables_are_the_model_s_own(service):
    answer = service.explain("ease", n=2)
    assert answer["tables"] == plain(service.models["ease"].estimator.explain(2))


def test_what_a_history_adds_sums_up_where_scores_are_sums(service):
    history = ["a0", "a1", "b0"]
    answer = speakers(service.models["ease"], history, "a2", 10)
    (score,) = answer["tables"]["score"]
    table = answer["tables"]["items of the history that speak for it"]
    weights = service.models["ease"].estimator.weights_
    names = service.models["ease"].names
    for row in table:
        assert row["adds"] == pytest.approx(weights[names.find(row["item"]), names.find("a2")], abs=1e-6)
    assert score["score"] == pytest.approx(sum(row["adds"] for row in table), abs=1e-5)
    assert table[-1]["item"] == "b0"


def test_the_only_item_of_a_history_says_it_all(service):
    tables = service.explain("als", history=["a0"], item="a1")["tables"]
    assert tables["items of the history that speak for it"] == [{"item": "a0", "adds": tables["score"][0]["score"]}]


def test_a_user_is_explained_where_the_model_remembers_users():
    model = CommunityRecommender(embedding_dim=4, num_communities=2, item_edges=3, epochs=2, batch_size=12)
    served = LoadedModel("communities", None, Artifact(model.fit(two_blocks().history), {}))
    assert explain(served, 3, "user 1")["tables"]
    with pytest.raises(NotFound, match="user must be one of the 24 known ones, got 'nobody'"):
        explain(served, 3, "nobody")
    with pytest.raises(ValueError, match="n must be"):  # which is no reason to say that somebody is not there
        explain(served, 0, "user 1")


@pytest.mark.parametrize(
    ("model", "asked", "error", "message"),
    [
        ("ease", {"user": "u"}, CannotAnswer, "user must be left out for 'ease'"),
        ("patterns", {}, CannotAnswer, "the model must explain itself"),
        ("ease", {"history": ["a0"]}, ValueError, "history and item must be given together"),
        ("ease", {"item": "a0"}, ValueError, "history and item must be given together"),
        ("ease", {"history": ["a0"], "item": "a1", "user": "u"}, ValueError, "without user"),
        ("ease", {"history": ["a0"], "item": "zz"}, NotFound, "item must be one of the 12"),
        ("ease", {"history": ["zz"], "item": "a0"}, NotFound, "history must have an item that 'ease' knows"),
        ("biased", {"history": ["a0"], "item": "a1"}, CannotAnswer, "the model must recommend"),
    ],
)
def test_what_cannot_be_explained_is_refused(service, model, asked, error, message):
    with pytest.raises(error, match=message):
        service.explain(model, **asked)


def test_plain_tables_survive_json():
    value = {1: [np.int64(2), np.inf, True, None, np.array([0.5, np.nan]), object]}
    assert plain(value) == {"1": [2, None, True, None, [0.5, None], "<class 'object'>"]}
