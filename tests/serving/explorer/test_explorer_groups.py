"""Groups: members by relevance, groups of a name, and places."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.serving.explorer.groups import Groups, largest

PROBS = np.array([[0.6, 0.3, 0.1, 0.0], [0.1, 0.1, 0.2, 0.6]])
BASE = np.array([0.5, 0.1, 0.1, 0.3])


def make(weights, **options) -> Groups:
    wide = weights if isinstance(weights, np.ndarray) else sparse.csc_array(weights)
    return Groups("g", "group", "items", np.ones(weights.shape[1]), "size", wide, "weight", **options)


@pytest.fixture
def topics() -> Groups:
    return make(np.log(np.maximum(PROBS, 1e-12) / BASE).T, probs=PROBS, base=BASE)


@pytest.mark.parametrize(("relevance", "first"), [(1.0, 0), (0.0, 1)])
def test_relevance_goes_from_frequent_to_special(topics, relevance, first):
    assert topics.members(0, 4, relevance)[0] == first


def test_relevance_is_the_published_formula(topics):
    assert PROBS[0].min() == 0  # which must not break anything
    kept = PROBS[0] > BASE
    expected = 0.6 * np.log(PROBS[0][kept]) + 0.4 * np.log(PROBS[0][kept] / BASE[kept])
    assert topics.members(0, 4, 0.6).tolist() == np.flatnonzero(kept)[np.argsort(-expected)].tolist()


def test_what_is_not_raised_is_no_member(topics):
    assert 3 not in topics.members(0, 4)
    assert 0 not in topics.members(1, 4)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_weights_are_shares_where_none_is_below_zero(kind):
    groups = make(kind(np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 4.0]])))
    np.testing.assert_allclose(groups.within(0), [0.75, 0.25, 0])
    np.testing.assert_allclose(groups.overall, [3 / 9, 2 / 9, 4 / 9])
    assert groups.members(0, 5, 1.0).tolist() == [0, 1]
    assert groups.strongest_of(1).tolist() == [0, 1]
    assert groups.strongest_of_all().tolist() == [0, 0, 1]


def test_weights_below_zero_are_no_shares():
    groups = make(np.array([[3.0, -1.0], [1.0, 2.0]]))
    assert groups.within(0) is None
    assert groups.overall is None
    assert groups.members(1).tolist() == [1]
    assert groups.strongest_of(0).tolist() == [0]


def test_a_name_divides_over_groups_by_bayes(topics):
    prior = np.array([0.5, 0.5])
    for name in range(4):
        joint = PROBS[:, name] * prior
        np.testing.assert_allclose(topics.spread(name), joint / joint.sum())


def test_salience_is_the_published_formula(topics):
    joint = PROBS * 0.5
    of_name = joint.sum(axis=0)
    expected = np.zeros(4)
    for name in range(4):
        given = joint[:, name] / of_name[name]
        expected[name] = of_name[name] * sum(share * np.log(share / 0.5) for share in given if share > 0)
    np.testing.assert_allclose(topics.salience(), expected, atol=1e-12)
    assert topics.salience().argmax() == 3  # in one group alone, and often


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_shares_of_weights_divide_and_tell_as_distributions_do(kind):
    weights = np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 4.0]])
    groups = make(kind(weights))
    within = weights / weights.sum(axis=0)
    same = make(within, probs=within.T, base=within.mean(axis=1))
    for name in range(3):
        np.testing.assert_allclose(groups.spread(name), same.spread(name))
    np.testing.assert_allclose(groups.salience(), same.salience(), atol=1e-12)


def test_without_shares_a_name_divides_by_weight_and_none_is_salient():
    groups = make(np.array([[3.0, -1.0], [1.0, 3.0], [-1.0, -2.0]]))
    assert groups.spread(0).tolist() == [1.0, 0.0]
    assert groups.spread(1).tolist() == [0.25, 0.75]
    assert groups.spread(2).tolist() == [0.0, 0.0]
    assert groups.salience() is None


def test_a_name_of_no_group():
    groups = make(sparse.csr_array(np.array([[0.0, 0.0], [1.0, 0.0]])))
    assert groups.strongest_of(0).tolist() == []
    assert groups.strongest_of_all().tolist() == [-1, 0]


def test_distances_between_topics_are_hellinger(topics):
    places = topics.places()
    expected = np.linalg.norm(np.sqrt(PROBS[0]) - np.sqrt(PROBS[1]))
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(expected, rel=1e-5)


def test_places_by_vectors_or_weights():
    by_vectors = make(np.eye(3), vectors=np.array([[0.0, 0], [0, 0], [1, 0]])).places()
    np.testing.assert_allclose(by_vectors[0], by_vectors[1])


def test_sparse_weights_lie_where_dense_ones_do_and_stay_sparse(monkeypatch):
    rng = np.random.default_rng(0)
    weights = np.where(rng.random((30, 5)) < 0.3, rng.random((30, 5)), 0.0)
    dense = make(weights).places()
    wide = make(sparse.csr_array(weights))
    monkeypatch.setattr(sparse.csc_array, "toarray", None)
    monkeypatch.setattr(sparse.csr_array, "toarray", None)
    apart = [np.linalg.norm(places[:, None] - places, axis=2) for places in (dense, wide.places())]
    np.testing.assert_allclose(apart[0], apart[1], atol=1e-4)


@pytest.mark.parametrize(("number", "relevance"), [(2, 0.5), (-1, 0.5), (0, 1.5)])
def test_bad_questions_are_refused(topics, number, relevance):
    with pytest.raises(ValueError, match="must be"):
        topics.members(number, 3, relevance)


def test_largest_of_ties_is_the_first():
    assert largest(np.array([1.0, 2.0, 2.0, 2.0]), 2).tolist() == [1, 2]
    assert largest(np.array([]), 3).tolist() == []
