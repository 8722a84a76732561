from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gossamer import datasets
from gossamer.data import Interactions, Sentences, Vocabulary
from gossamer.models.embeddings.knowledge import cooccurrence
from gossamer.models.embeddings.knowledge.cooccurrence import (
    count_items_together,
    count_words_together,
    positive_pmi,
    ppmi_features,
)
from gossamer.testing.planted import planted_communities


def sentences_of(rows: list[list[int]], num_words: int = 6) -> Sentences:
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    tokens = np.array([token for row in rows for token in row], dtype=np.int64)
    return Sentences(tokens, offsets, Vocabulary([f"w{word}" for word in range(num_words)]))


def words_together_by_hand(rows: list[list[int]], window: int, num_words: int = 6) -> np.ndarray:
    counts = np.zeros((num_words, num_words))
    for row in rows:
        for i, first in enumerate(row):
            for j, second in enumerate(row):
                if i != j and abs(i - j) <= window and first != second:
                    counts[first, second] += 1
    return counts


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 5), max_size=8), max_size=6), st.integers(1, 4), st.integers(1, 12))
def test_words_together_are_counted_as_by_hand_in_blocks_of_any_size(
    rows: list[list[int]], window: int, pairs_at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cooccurrence, "PAIRS_AT_ONCE", pairs_at_once)
        counts = count_words_together(sentences_of(rows), window=window)
    np.testing.assert_array_equal(counts.toarray(), words_together_by_hand(rows, window))
    assert (counts.data > 0).all()


def test_rare_pairs_are_dropped_after_all_blocks_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "PAIRS_AT_ONCE", 1)
    counts = count_words_together(sentences_of([[0, 1], [1, 0], [2, 3]]), min_count=2)
    assert counts.toarray()[0, 1] == 2
    assert counts.nnz == 2


@pytest.mark.parametrize("pairs_at_once", [1, 50, 1 << 22])
def test_items_together_are_the_product_of_the_matrix(monkeypatch: pytest.MonkeyPatch, pairs_at_once: int) -> None:
    monkeypatch.setattr(cooccurrence, "PAIRS_AT_ONCE", pairs_at_once)
    data = planted_communities(40, 30, random_state=1).data
    product = (data.matrix().T @ data.matrix()).toarray()
    np.fill_diagonal(product, 0)
    np.testing.assert_array_equal(count_items_together(data).toarray(), product)
    np.testing.assert_array_equal(count_items_together(data, min_count=3).toarray(), product * (product >= 3))


def test_no_interactions_give_no_pairs() -> None:
    empty = Interactions.from_pairs(
        np.array([], dtype=np.int64), np.array([], dtype=np.int64), item_ids=Vocabulary.numbered(3)
    )
    assert count_items_together(empty).nnz == 0


def test_positive_pmi_is_the_formula_and_independent_words_have_none() -> None:
    counts = np.array([[0, 4, 1], [4, 0, 0], [1, 0, 2.0]])
    joint = counts / counts.sum()
    margin = joint.sum(axis=1)
    with np.errstate(divide="ignore"):
        expected = np.maximum(np.log(joint / np.outer(margin, margin)), 0)
    np.testing.assert_allclose(positive_pmi(sparse.csr_array(counts)).toarray(), expected, rtol=1e-5)
    independent = sparse.csr_array(np.outer([1.0, 2.0], [1.0, 2.0]))
    np.testing.assert_allclose(positive_pmi(independent).toarray(), 0, atol=1e-6)


def test_features_of_all_dimensions_rebuild_the_pmi_up_to_signs() -> None:
    data = planted_communities(60, 20, random_state=0).data
    counts = count_items_together(data)
    features = ppmi_features(counts, 20)
    truth = positive_pmi(counts).toarray()
    left, strength, _ = np.linalg.svd(truth)
    np.testing.assert_allclose(features @ features.T, left * strength @ left.T, atol=2e-3)


def test_features_put_items_of_one_community_together() -> None:
    planted = planted_communities(random_state=0)
    features = ppmi_features(count_items_together(planted.data), 4, random_state=0)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, -1)
    nearest = likeness.argmax(axis=1)
    same = planted.item_communities[nearest] == planted.item_communities
    assert same.mean() > 0.95
    np.testing.assert_array_equal(features, ppmi_features(count_items_together(planted.data), 4, random_state=0))


def test_bad_arguments_are_named() -> None:
    data = sentences_of([[0, 1]])
    with pytest.raises(ValueError, match="window must be an integer >= 1, got 0"):
        count_words_together(data, window=0)
    with pytest.raises(ValueError, match="min_count must be an integer >= 1, got 0"):
        count_words_together(data, min_count=0)
    with pytest.raises(ValueError, match="feature_dim must be an integer >= 1 and <= 6, got 7"):
        ppmi_features(count_words_together(data), 7)


@pytest.mark.data
def test_days_of_the_week_keep_company_in_the_newspaper() -> None:
    sentences = datasets.load("ptb", part="train")
    features = ppmi_features(count_words_together(sentences), 50)
    unit = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    (monday,) = sentences.vocabulary.index_of(["monday"])
    nearest = [sentences.vocabulary[word] for word in np.argsort(-unit @ unit[monday])[1:8]]
    assert len({"tuesday", "wednesday", "thursday", "friday"} & set(nearest)) >= 3, nearest
