"""NPMI against a count over all documents and pairs, its conventions, and the diversity of topics."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from gossamer.metrics.coherence import npmi, topic_diversity
from gossamer.testing.planted import planted_topics

DOCUMENTS = arrays(np.float64, st.tuples(st.integers(1, 7), st.just(5)), elements=st.sampled_from([0, 0, 1, 3]))
TOPICS = st.lists(st.permutations(range(5)).map(lambda order: order[:3]), min_size=1, max_size=4).map(np.array)


def brute_force(topic: list[int], documents: np.ndarray) -> float:
    held = [set(np.flatnonzero(document)) for document in documents]

    def share(*terms: int) -> float:
        return sum(all(term in document for term in terms) for document in held) / len(held)

    values = []
    for one, other in combinations(topic, 2):
        both = share(one, other)
        if both in (0, 1):
            values.append(-1.0 if both == 0 else 0.0)
        else:
            values.append(math.log(both / (share(one) * share(other))) / -math.log(both))
    return sum(values) / len(values)


@given(DOCUMENTS, TOPICS)
def test_npmi_equals_a_count_over_all_documents(documents, topics):
    expected = [brute_force(topic, documents) for topic in topics.tolist()]
    np.testing.assert_allclose(npmi(topics, csr_array(documents)), expected, atol=1e-12)


@given(DOCUMENTS, TOPICS, st.permutations(range(5)))
def test_npmi_does_not_change_with_order_of_rows_columns_or_terms(documents, topics, order):
    before = npmi(topics, csr_array(documents))
    place = np.argsort(order)
    np.testing.assert_allclose(npmi(place[topics], csr_array(documents[::-1][:, order])), before, atol=1e-12)
    np.testing.assert_allclose(npmi(topics[:, ::-1], csr_array(documents * 7)), before, atol=1e-12)


def test_the_ends_of_the_scale():
    documents = csr_array(np.array([[1, 1, 0, 1, 0], [1, 1, 0, 1, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0]]))
    pairs = {(0, 1): 1, (0, 2): -1, (0, 4): -1, (0, 3): 0}
    np.testing.assert_allclose(npmi(np.array(list(pairs)), documents), list(pairs.values()), atol=1e-12)
    everywhere = csr_array(np.ones((3, 2)))
    assert npmi(np.array([[0, 1]]), everywhere) == 0, "two terms of every document say nothing of each other"


def test_explicit_zeros_and_repeated_entries_are_no_documents():
    raw = csr_array((np.array([1, 1, 1, 0]), np.array([0, 0, 1, 1]), np.array([0, 3, 4])), shape=(2, 2))
    assert npmi(np.array([[0, 1]]), raw) == 1
    assert raw.nnz == 4, "the caller's matrix stays as it was"


def test_counts_of_a_small_integer_type_do_not_overflow():
    reference = csr_array(np.repeat(np.array([[1, 1], [0, 0]], dtype=np.int8), 300, axis=0))
    assert npmi(np.array([[0, 1]], dtype=np.uint8), reference) == 1


def test_the_planted_topics_are_coherent_and_shuffled_terms_are_not():
    planted = planted_topics(num_documents=400, words_per_document=20, concentration=0.05)
    top = np.argsort(-planted.topics, axis=1)[:, :8]
    shuffled = np.random.default_rng(0).permuted(top.ravel()).reshape(8, 4)
    assert npmi(top, planted.data.matrix).min() > 0.2
    assert npmi(shuffled, planted.data.matrix).mean() < 0.1
    assert topic_diversity(top) == 1


def test_diversity_is_the_share_of_distinct_terms():
    assert topic_diversity(np.array([[0, 1, 2], [2, 1, 0]])) == 0.5


@pytest.mark.parametrize(
    ("topics", "documents", "message"),
    [
        ([[0]], [[1.0, 1.0]], r"topics must be integers of the shape \(K, n\), K >= 1 and n >= 2, got int64 \(1, 1\)"),
        ([0, 1], [[1.0, 1.0]], r"K >= 1 and n >= 2, got int64 \(2,\)"),
        ([[0.0, 1.0]], [[1.0, 1.0]], "topics must be integers"),
        ([[0, 2]], [[1.0, 1.0]], "topics must be columns 0 … 1 of the reference, got 2"),
        ([[-1, 0]], [[1.0, 1.0]], "topics must be columns 0 … 1 of the reference, got -1"),
        ([[1, 1]], [[1.0, 1.0]], "topics must not repeat a term within a topic, got 1 twice"),
        ([[0, 1]], np.zeros((0, 2)), "reference must have at least one document, got 0"),
        ([[0, 1]], [[1.0, -1.0]], "reference must hold finite counts >= 0, got -1.0"),
        ([[0, 1]], [[np.nan, 1.0]], "reference must hold finite counts >= 0, got nan"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_mistakes_are_answered_with_a_sentence(topics, documents, message):
    with pytest.raises(ValueError, match=message):
        npmi(np.array(topics), csr_array(np.array(documents)))


@pytest.mark.usefixtures("unchecked_shapes")
def test_diversity_of_no_topics_is_refused():
    with pytest.raises(ValueError, match="K >= 1"):
        topic_diversity(np.zeros((0, 3), dtype=np.int64))
