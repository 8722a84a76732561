"""The model without documents: every word is drawn from the same distribution, the bar that a topic must clear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.core.search_space import Real, SearchSpace
from gossamer.data.counts import Counts
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts.documents import read_documents, read_training
from gossamer.models.counts.perplexity import PERPLEXITIES, perplexity_of
from gossamer.models.counts.sampling import NUM_QUANTILES, draw_lengths, draw_words, length_quantiles
from gossamer.persistence import JSON, Persistent, check_array, check_names


class Unigram(Persistent, BaseEstimator):
    """Gives each term its share of the training words, (count + `smoothing`) / (all words + V · `smoothing`).

    There is nothing to infer, so likelihoods are exact, and the amortised and refined perplexities the same number.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "perplexity_document_refined",
        {
            "smoothing": Real(0.01, 10, log=True),
        },
    )

    def __init__(self, *, smoothing: float = 1.0) -> None:
        self.smoothing = smoothing

    def fit(self, data: Counts | np.ndarray, y: object = None, *, validation: object = None) -> Self:
        """Count the terms; there is nothing to choose on validation data, and `y` is scikit-learn's."""
        del y, validation
        check_real("smoothing", self.smoothing, above=0)
        matrix, self.terms_ = read_training(self, data)
        counts = np.bincount(matrix.indices, matrix.data, matrix.shape[1]) + self.smoothing
        self.probs_ = (counts / counts.sum()).astype(np.float32)
        self.length_quantiles_ = length_quantiles(matrix)
        return self

    def evaluate(self, data: Counts | np.ndarray) -> dict[str, float]:
        """Return the perplexity per document and per token, under the names that models with inference have."""
        check_is_fitted(self, "terms_")
        matrix = read_documents(self, data, self.terms_)
        likelihood = matrix @ np.log(self.probs_.astype(np.float64))
        found = {per: perplexity_of(likelihood, matrix, per) for per in PERPLEXITIES}
        return {f"perplexity_{per}_{how}": found[per] for per in PERPLEXITIES for how in ("amortised", "refined")}

    def sample(self, n: int, *, random_state: int | None = None) -> Counts:
        """Return n new documents, as long as those of the training data."""
        check_is_fitted(self, "terms_")
        check_int("n", n, at_least=1)
        generator = numpy_generator(random_state)
        lengths = draw_lengths(self.length_quantiles_, n, generator)
        return Counts(draw_words((self.probs_[None, :] for _ in range(n)), lengths, generator), self.terms_)

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the n most frequent terms."""
        check_is_fitted(self, "terms_")
        check_int("n", n, at_least=1)
        best = np.argsort(-self.probs_, kind="stable")[:n]
        rows = [{"term": str(self.terms_[int(term)]), "share": float(self.probs_[term])} for term in best]
        return {"most frequent terms": rows}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the probabilities of terms, and the percentiles of lengths."""
        check_is_fitted(self, "terms_")
        return {"probs": self.probs_, "length_quantiles": self.length_quantiles_}

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the terms."""
        return {"terms": self.terms_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return nothing: there is no history."""
        return {}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],  # noqa: ARG002 (there is none)
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"terms"}, "vocabularies")
        check_names(arrays, {"probs", "length_quantiles"})
        terms = vocabularies["terms"]
        self.probs_ = check_array(arrays, "probs", np.float32, (len(terms),))
        self.length_quantiles_ = check_array(arrays, "length_quantiles", np.float32, (NUM_QUANTILES,))
        self.terms_ = terms
        self.n_features_in_ = len(terms)
