from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from tiny_sentences import few_sentences

from gossamer.data.text import build_sentences
from gossamer.models.spikeslab.analysis import (
    class_measures,
    class_patterns,
    class_word_kl,
    kl_gate_correlation,
    pattern_spread,
    top_sentences,
    words_of_dimensions,
)


def test_patterns_are_means_over_classes():
    is_off = np.array([[1, 0], [1, 1], [0, 0]], dtype=bool)
    found = class_patterns(is_off, np.array([0, 0, 2]), 3)
    np.testing.assert_allclose(found, [[1, 0.5], [np.nan, np.nan], [0, 0]])
    assert pattern_spread(found) == pytest.approx((0.5 + 0.25) / 2)


def test_the_divergence_of_classes_is_that_of_smoothed_frequencies():
    data = build_sentences(["a a b", "b c"], labels=["x", "y"], unknown=None)
    p, q = np.array([3, 2, 1]) / 6, np.array([1, 2, 2]) / 5
    expected = (p * np.log(p / q)).sum()
    found = class_word_kl(data)
    words = list(data.vocabulary)
    assert words == ["a", "b", "c"]
    assert found[0, 1] == pytest.approx(expected)
    np.testing.assert_allclose(np.diag(found), 0, atol=1e-12)
    with pytest.raises(ValueError, match="data must have a label for each sentence"):
        class_word_kl(build_sentences(["a b"]))


def test_gates_that_know_classes_have_a_spread():
    data = build_sentences(["a a", "b b", "a", "b"], labels=["x", "y", "x", "y"], unknown=None)
    undecided = np.array([[0.9, 0.7], [0.7, 0.7], [0.9, 0.7], [0.7, 0.7]])
    found = class_measures(undecided, data)
    assert found["pattern_spread"] == 0
    assert found["gate_spread"] == pytest.approx(0.05)
    assert found["class_word_kl"] > 0
    assert class_measures(np.array([[0.9], [0.1], [0.9], [0.1]]), data)["pattern_spread"] == 0.5


def test_the_correlation_of_words_and_gates_is_spearmans():
    rng = np.random.default_rng(0)
    divergence, patterns = rng.random((5, 5)).round(1), rng.random((5, 3))
    first, second = np.triu_indices(5, k=1)
    far = (divergence + divergence.T)[first, second]  # rounded: some are equal
    apart = np.abs(patterns[first] - patterns[second]).mean(axis=1)
    assert kl_gate_correlation(divergence, patterns) == pytest.approx(float(spearmanr(far, apart).statistic))
    with_empty = np.vstack([patterns[:4], np.full((1, 3), np.nan)])  # a class without sentences says nothing
    assert kl_gate_correlation(divergence, with_empty) == pytest.approx(
        kl_gate_correlation(divergence[:4, :4], patterns[:4])
    )
    assert kl_gate_correlation(divergence[:2, :2], patterns[:2]) == 0
    assert kl_gate_correlation(divergence, np.ones((5, 3))) == 0


def test_a_dimension_is_named_by_the_words_of_its_sentences():
    texts = ["the cat sat", "the cat ran", "the dog sat", "the dog ran"] * 5
    data = build_sentences(texts, unknown=None)
    is_cat = np.array(["cat" in text for text in texts])
    codes = np.stack([is_cat * 2.0, ~is_cat * -1.0, np.zeros(20)], axis=1)
    rows = words_of_dimensions(codes, codes == 0, data)
    assert [row["words"].split(", ")[0] for row in rows] == ["cat", "dog", ""]
    assert [row["on in"] for row in rows] == [0.5, 0.5, 0.0]


def test_top_sentences_are_those_farthest_from_zero():
    codes = np.array([[0.1], [-3.0], [0.0], [2.0], [9.0]])
    is_off = np.array([[False], [False], [False], [False], [True]])
    rows = top_sentences(codes, is_off, few_sentences(), 0, n=9)
    assert [row["value"] for row in rows] == [-3.0, 2.0, 0.1]
    assert rows[0]["sentence"] == "b"
