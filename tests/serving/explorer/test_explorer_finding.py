"""Groups of every kind of model, found by what it offers; the planted halves are there."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from explorer_samples import FRUIT, halves

from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community import CommunityRecommender
from gossamer.serving.explorer.finding import find_groups, tables_of

EXPECTED = {
    "als": [],
    "ease": [],
    "network": [],
    "anchors": ["anchors-users", "anchors-items"],
    "communities": ["communities-items", "communities-users"],
    "topics": ["topics"],
    "codes": ["features"],
    "phases": ["phases"],
    "index": ["stored-features"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_model_has_its_groups(known, name):
    assert [groups.key for groups in known[name].groups] == EXPECTED[name]


@pytest.mark.parametrize("name", [name for name, keys in EXPECTED.items() if keys])
def test_shapes_sizes_and_labels_fit(known, name):
    for groups in known[name].groups:
        size = len(known[name].vocabularies[groups.kind])
        assert groups.weights.shape == (size, len(groups))
        assert len(set(groups.labels)) == len(groups)
        assert (groups.sizes >= 0).all()
        assert groups.places().shape == (len(groups), 2)
        if groups.probs is not None:
            np.testing.assert_allclose(groups.probs.sum(axis=1), 1, rtol=1e-4)
            assert groups.base.sum() == pytest.approx(1, rel=1e-4)


def test_anchors_are_what_the_table_says(known):
    groups = known["anchors"].find_group_set("anchors-items")
    table = known["anchors"].estimator.model_.items
    for number in range(len(groups)):
        own = dict(table.members_of(int(groups.label(number)), None))
        weights = groups.column(number)
        assert {int(row): pytest.approx(float(weights[row])) for row in np.flatnonzero(weights)} == own
    of_first = table.anchors_of(0)
    assert [int(groups.label(int(one))) for one in groups.strongest_of(0, len(of_first))] == [
        one for one, _ in of_first
    ]


@pytest.mark.parametrize(("name", "key"), [("topics", "topics"), ("phases", "phases"), ("codes", "features")])
def test_the_strongest_groups_are_of_one_half(known, name, key):
    groups = known[name].find_group_set(key)
    purity = []
    for number in range(2):
        fruit = np.isin(groups.members(number, 6, 1.0), list(FRUIT)).mean()
        purity.append(max(fruit, 1 - fruit))
    assert min(purity) == 1


def test_topics_are_the_directions_that_explain_shows(known):
    groups = known["topics"].find_group_set("topics")
    shown = known["topics"].estimator.explain()["topics"]
    assert list(groups.labels) == [row["direction"] for row in shown]
    np.testing.assert_allclose(groups.axes.T @ groups.axes, np.eye(2), atol=1e-6)
    assert groups.sizes.sum() == pytest.approx(1)
    terms = known["topics"].vocabularies["terms"]
    likelier = str(terms[int(groups.column(0).argmax())])
    assert likelier in shown[0]["raises"]


def test_phases_say_how_long_and_what_follows(known):
    groups = known["phases"].find_group_set("phases")
    assert groups.sizes.sum() == pytest.approx(1)
    np.testing.assert_allclose(groups.sizes, [0.5, 0.5], atol=0.1)
    for fact in groups.facts:
        assert fact["mean duration, steps"] == pytest.approx(5, abs=1)
        assert "100%" in fact["most often followed by"]


def test_what_follows_a_phase_is_of_the_moves_out_of_it():
    def facts(transition):
        shape = {"emission.probs": np.full((1, len(transition), 3), 1 / 3), "initial": np.ones((1, len(transition)))}
        model = SimpleNamespace(parameters_={**shape, "transition": np.array([transition])})
        (groups,) = find_groups(model, {"events": Vocabulary(["a", "b", "c"])})
        return {groups.label(number): fact for number, fact in enumerate(groups.facts)}

    of_three = facts([[0.8, 0.15, 0.05], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert of_three["0"]["most often followed by"] == "phase 1 (75%)"
    assert of_three["0"]["mean duration, steps"] == 5
    assert of_three["2"]["most often followed by"] == "no other phase"
    assert facts([[1.0]])["0"]["most often followed by"] == "no other phase"


def test_memberships_of_users_sum_to_one(known):
    groups = known["communities"].find_group_set("communities-users")
    np.testing.assert_allclose(groups.weights.sum(axis=1), 1, rtol=1e-5)
    assert groups.facts[0]["members"] >= groups.facts[1]["members"]


def test_raised_items_are_those_that_communities_like(known):
    estimator = known["communities"].estimator
    raised = estimator.raised_items()
    np.testing.assert_allclose(raised.mean(axis=0), 0, atol=1e-5)
    for row in estimator.communities(3):
        best = np.argsort(-raised[row["community"]], kind="stable")[:3]
        assert row["typical items"] == [estimator.items_[int(item)] for item in best]


def test_a_model_of_communities_without_any_has_no_groups():
    model = CommunityRecommender(method="graphsage", embedding_dim=4, epochs=1).fit(halves())
    assert find_groups(model, model.learned_vocabularies()) == []


def test_tables_are_found_by_their_size(known):
    kinds = {kind for kind, _ in tables_of(known["anchors"].estimator, known["anchors"].vocabularies)}
    assert kinds == {"users", "items"}
    assert list(tables_of(object(), {})) == []
