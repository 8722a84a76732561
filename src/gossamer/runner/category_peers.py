"""What the next category of a series is without any phases: the most frequent ones, or what features alone say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from jaxtyping import Float64

from gossamer.data.sequences import Sequences

RANKS = (1, 3, 5)


def strengths_of(data: Sequences) -> Float64[np.ndarray, "N V"]:
    """Return strengths of categories at every step, of events as well as of strengths; zeros where missing."""
    if data.observations.ndim == 2:
        return np.nan_to_num(np.asarray(data.observations, dtype=np.float64))
    size = int(data.observations.max(initial=0)) + 1 if data.vocabulary is None else len(data.vocabulary)
    rows = np.vstack([np.eye(size), np.zeros(size)])
    strengths: np.ndarray = rows[data.observations]  # -1, a missing event, is the row of zeros
    return strengths


class CategoryPeer(ABC):
    """Scores the categories of a series' last step from the steps before it, and counts hits."""

    library = "scikit-learn"

    def evaluate(self, data: Sequences) -> dict[str, float]:
        """Return how often the last step has one of the k best categories, k = 1, 3, 5."""
        strengths = strengths_of(data)
        ends = data.offsets[1:] - 1
        before = strengths.copy()
        before[ends] = 0
        earlier = np.add.reduceat(before, data.offsets[:-1], axis=0)
        order = np.argsort(-self._scores(data, earlier), axis=1, kind="stable")
        is_hit = np.take_along_axis(strengths[ends], order, axis=1) > 0
        return {f"top{rank}": float(is_hit[:, :rank].any(axis=1).mean()) for rank in RANKS}

    @abstractmethod
    def _scores(self, data: Sequences, earlier: Float64[np.ndarray, "B V"]) -> Float64[np.ndarray, "B V"]:
        """Return how likely each category is next, given how often it came before."""


class MostFrequentCategory(CategoryPeer):
    """The categories that a series had most before, with those of everybody as `weight` steps of its own.

    A very large weight gives everybody the same answer.
    """

    def __init__(self, *, weight: float = 1.0) -> None:
        self.weight = weight

    def fit(self, data: Sequences, validation: Sequences | None = None) -> Self:
        """Count categories; there is nothing to choose on validation data."""
        del validation
        total = strengths_of(data).sum(axis=0)
        self.shares_ = total / max(total.sum(), 1e-300)
        return self

    def _scores(self, data: Sequences, earlier: np.ndarray) -> np.ndarray:
        del data
        scores: np.ndarray = earlier + self.weight * self.shares_
        return scores


class FeatureCategory(CategoryPeer):
    """`sklearn.linear_model.LogisticRegression` from features to categories: what embeddings know without time."""

    def __init__(self, *, penalty: float = 1.0, random_state: int = 0) -> None:
        self.penalty, self.random_state = penalty, random_state

    def fit(self, data: Sequences, validation: Sequences | None = None) -> Self:
        """Fit on each series' mean strengths; there is nothing to choose on validation data."""
        del validation
        from sklearn.linear_model import LogisticRegression

        features = self._features(data)
        self.mean_, self.scale_ = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
        sums = np.add.reduceat(strengths_of(data), data.offsets[:-1], axis=0)
        series, categories = np.nonzero(sums)
        self.num_categories_ = sums.shape[1]
        self.model_ = LogisticRegression(C=1 / self.penalty, max_iter=300, random_state=self.random_state)
        scaled = (features - self.mean_) / self.scale_
        self.model_.fit(scaled[series], categories, sample_weight=sums[series, categories])
        return self

    def _scores(self, data: Sequences, earlier: np.ndarray) -> np.ndarray:
        del earlier
        scores = np.zeros((len(data), self.num_categories_))
        scaled = (self._features(data) - self.mean_) / self.scale_
        scores[:, self.model_.classes_] = self.model_.predict_proba(scaled)
        return scores

    @staticmethod
    def _features(data: Sequences) -> np.ndarray:
        if data.features is None:
            raise ValueError("data must have features per series, got none; add them with embed or features")
        return data.features.astype(np.float64)
