"""Gains by vocabulary size with models that answer by formula, and the restriction to frequent terms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from gossamer.data import Counts, Parts, Vocabulary
from gossamer.data.text import build_sentences
from gossamer.models.counts.diagnostics.vocabulary_gain import gains_by_vocabulary, keep_frequent, perplexity_gain
from gossamer.testing.planted import planted_topics


class ByFormula:
    """Its perplexity is the number of terms, less a share if it was trained refined."""

    def __init__(self, inference: str) -> None:
        self.share = {"amortised": 1.0, "refined": 0.75}[inference]
        self.asked: list[tuple[str, object]] = []

    def perplexity(self, X: Counts, per: str = "document", *, refine: object = None) -> float:
        self.asked.append((per, refine))
        return len(X.terms) * self.share


@pytest.fixture
def parts() -> Parts:
    data = planted_topics(num_documents=30, num_terms=12).data
    return Parts(data[:20], data[20:23], data[23:], {"kind": "made up"})


def test_the_gain_is_the_share_of_perplexity_taken_away(parts: Parts) -> None:
    amortised, refined = ByFormula("amortised"), ByFormula("refined")
    found = perplexity_gain(amortised, refined, parts.test, per="token")
    assert found.as_row() == {"part": "test", "num_terms": 12, "amortised": 12, "refined": 9, "gain": 0.25}
    assert amortised.asked == refined.asked == [("token", True)], "both are judged with refined posteriors"


def test_two_models_are_fitted_for_each_size(parts: Parts) -> None:
    fitted = []

    def fit(kept: Parts, inference: str) -> ByFormula:
        assert kept.valid.terms == kept.train.terms, "an epoch can be chosen on validation documents"
        fitted.append((len(kept.train), len(kept.train.terms), inference))
        return ByFormula(inference)

    found = gains_by_vocabulary(fit, parts, [4, 12])
    assert fitted == [(20, 4, "amortised"), (20, 4, "refined"), (20, 12, "amortised"), (20, 12, "refined")]
    assert [(each.part, each.num_terms) for each in found] == [("train", 4), ("test", 4), ("train", 12), ("test", 12)]


def test_the_most_frequent_terms_of_training_are_kept_in_order(parts: Parts) -> None:
    kept = keep_frequent(parts, 5)
    dense = parts.train.matrix.toarray()
    by_count = sorted(range(12), key=lambda term: (-dense[:, term].sum(), term))
    columns = sorted(by_count[:5])
    np.testing.assert_array_equal(kept.train.matrix.toarray(), dense[:, columns])
    np.testing.assert_array_equal(kept.test.matrix.toarray(), parts.test.matrix.toarray()[:, columns])
    assert list(kept.train.terms) == [f"term{term}" for term in columns]
    assert (len(kept.train), len(kept.valid), len(kept.test)) == (20, 3, 7), "documents stay, even if they lose words"
    assert kept.description == {"kind": "made up", "num_terms": 5}
    np.testing.assert_array_equal(kept.train.labels, parts.train.labels)


def test_a_test_part_without_words_is_left_out() -> None:
    train = Counts(csr_array([[3, 2, 0], [1, 0, 1]]), Vocabulary(["a", "b", "c"]))
    test = Counts(csr_array([[0, 0, 4]]), train.terms)
    found = gains_by_vocabulary(lambda _, inference: ByFormula(inference), Parts(train, None, test), [2, 3])
    assert [(each.part, each.num_terms) for each in found] == [("train", 2), ("train", 3), ("test", 3)]


def test_mistakes_are_answered_with_a_sentence(parts: Parts) -> None:
    for size in (1, 13, 2.5):
        with pytest.raises(ValueError, match=f"sizes must be an integer >= 2 and <= 12, got {size}"):
            gains_by_vocabulary(lambda _, inference: ByFormula(inference), parts, [4, size])
    sentences = build_sentences(["ham eggs", "eggs"])
    with pytest.raises(ValueError, match="parts must hold Counts, got Sentences"):
        keep_frequent(Parts(sentences, None, sentences), 1)
