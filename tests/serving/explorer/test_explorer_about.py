"""What a model knows about a name is what the model itself says."""

from __future__ import annotations

import numpy as np
import pytest
from explorer_samples import HOSTILE, NAMES

from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.about import about, examples, plain_rows


def rows_of(found, title):
    (ranking,) = [one for one in found.rankings if one.title == title]
    return [row.name for row in ranking.rows], [row.score for row in ranking.rows]


@pytest.mark.parametrize("name", ["als", "ease", "communities"])
def test_what_goes_with_an_item_is_recommended_for_it_alone(known, name):
    estimator = known[name].estimator
    names, scores = rows_of(about(known[name], "items", NAMES[0], 5), "Goes with it")
    history = Interactions.from_pairs(["x"], [NAMES[0]], [1.0], item_ids=estimator.items_)
    expected = estimator.recommend(history, 5)
    keep = expected.items[0] >= 0
    assert names == [estimator.items_[int(item)] for item in expected.items[0][keep]]
    np.testing.assert_allclose(scores, expected.scores[0][keep], rtol=1e-5)


def test_a_user_of_ratings_gets_the_highest_predictions(known):
    estimator = known["anchors"].estimator
    names, scores = rows_of(about(known["anchors"], "users", "user3", 4), "Would rate highest")
    pairs = Interactions.from_pairs(["user3"] * 20, NAMES, item_ids=estimator.items_)
    predicted = estimator.predict(pairs)
    np.testing.assert_allclose(scores, np.sort(predicted)[::-1][:4], rtol=1e-5)
    assert names == [NAMES[place] for place in np.argsort(-predicted, kind="stable")[:4]]


def test_anchors_of_an_item(known):
    found = about(known["anchors"], "items", NAMES[2])
    (belongings,) = found.belongings
    own = known["anchors"].estimator.model_.items.anchors_of(2)
    assert [(int(row.label), pytest.approx(row.weight)) for row in belongings.rows] == own
    assert belongings.noun == "anchor"


def test_the_code_of_a_word_is_what_transform_says(known):
    estimator = known["codes"].estimator
    found = about(known["codes"], "terms", NAMES[3], 100)
    (code,) = [one for one in found.belongings if one.title == "Active in its code"]
    row = np.zeros((1, 20), dtype=np.float32)
    row[0, 3] = 1
    expected = estimator.transform(Counts(row, estimator.terms_)).toarray()[0]
    assert {int(one.label): one.weight for one in code.rows} == {
        int(column): float(expected[column]) for column in np.flatnonzero(expected)
    }


def test_a_user_of_communities_is_explained_by_the_model(known):
    found = about(known["communities"], "users", "user1")
    assert "recommended" in found.tables
    (belongings,) = found.belongings
    assert sum(row.weight for row in belongings.rows) == pytest.approx(1, abs=0.01)


def test_events_have_phases_and_documents_features(known):
    assert about(known["phases"], "events", NAMES[0]).belongings[0].noun == "phase"
    assert about(known["index"], "names", "page 3").belongings[0].noun == "feature"
    assert about(known["network"], "classes", "low").rankings == []


def test_facts_rank_by_frequency(known):
    facts = about(known["als"], "items", NAMES[0]).facts
    counts = known["als"].estimator.popularity_
    assert facts["rank by frequency"] == f"{1 + int((counts > counts[0]).sum())} of 20"
    assert facts["in training"] == counts[0]
    assert "share by the model" in about(known["topics"], "terms", NAMES[0]).facts


def test_hostile_names_are_names(known):
    assert about(known["als"], "items", HOSTILE).name == HOSTILE


def test_unknown_names_and_bad_numbers(known):
    with pytest.raises(NotFound, match="is not among"):
        about(known["als"], "items", "absent")
    with pytest.raises(ValueError, match="n must be"):
        about(known["als"], "items", NAMES[0], 0)


def test_examples_are_the_most_frequent(known):
    (found,) = examples(known["als"], 3)
    counts = known["als"].estimator.popularity_
    assert found.names == [NAMES[place] for place in np.argsort(-counts, kind="stable")[:3]]
    assert [one.kind for one in examples(known["anchors"])] == ["users", "items"]


def test_cells_are_plain():
    rows = plain_rows([{"a": np.float32(0.5), "b": float("nan"), "c": ["x", 1], "d": np.int64(3), "e": "text"}])
    assert rows == [{"a": 0.5, "b": None, "c": "x, 1", "d": 3, "e": "text"}]
