"""scikit-learn's models of several labels, and of counts, behind `fit` and `evaluate`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from gossamer.core.randomness import derive_seed, numpy_generator
from gossamer.data.arrays import LabelledArrays
from gossamer.metrics.labels import macro_scores, micro_scores, per_example_scores
from gossamer.models.discrete.label_data import Scaler, check_labels
from gossamer.models.discrete.label_thresholds import choose_thresholds, switch_on

NUM_FOLDS = 5
Probs = Callable[[np.ndarray], np.ndarray]


class LabelPeer(ABC):
    """Another library's multi-label classifier, with columns standardised and thresholds chosen as ours are.

    One threshold of 0.05 … 0.5 for all labels, by 5-fold cross-validation inside the training part, for `objective`.
    """

    library: str

    def __init__(self, *, objective: str, random_state: int) -> None:
        self.objective = objective
        self.random_state = random_state

    def fit(self, data: LabelledArrays, validation: LabelledArrays | None = None) -> Self:
        """Choose the threshold, then fit on all rows; peers choose nothing on validation data."""
        del validation
        self.scaler_ = Scaler.fit(np.asarray(data.inputs, dtype=np.float64))
        inputs, labels = self.scaler_(data.inputs), check_labels("labels", data.targets)
        with threadpool_limits(1, user_api="blas"):
            folds = numpy_generator(derive_seed(self.random_state, "folds")).permutation(len(inputs)) % NUM_FOLDS
            probs = np.zeros(labels.shape)
            for fold in range(NUM_FOLDS):
                seen = folds != fold
                probs[~seen] = self._learned(inputs[seen], labels[seen])(inputs[~seen])
            self.thresholds_, _ = choose_thresholds(probs, labels, labels.shape[1], how="cv", objective=self.objective)
            self.probs_ = self._learned(inputs, labels)
        return self

    def evaluate(self, data: LabelledArrays) -> dict[str, float]:
        """Return micro and macro F1, the mean F1 of examples, and how many labels a row is given on average.

        "macro_f1" counts a label that is neither predicted nor there as 0, "macro_f1_absent_as_1" as 1: papers differ.
        """
        truth = check_labels("labels", data.targets)
        predicted = switch_on(self.probs_(self.scaler_(data.inputs)), self.thresholds_, truth.shape[1])
        return {
            "micro_f1": micro_scores(predicted, truth).f1,
            "macro_f1": macro_scores(predicted, truth).f1,
            "macro_f1_absent_as_1": macro_scores(predicted, truth, zero_division=1.0).f1,
            "example_f1": float(per_example_scores(predicted, truth).f1.mean()),
            "mean_active": float(predicted.sum(axis=1).mean()),
        }

    def _learned(self, inputs: np.ndarray, labels: np.ndarray) -> Probs:
        """Fit; a label that all rows have, or none, is left to itself, because the libraries refuse it."""
        share = labels.mean(axis=0)
        varies = (share > 0) & (share < 1)
        learned = self._learn(inputs, labels[:, varies])

        def probs(rows: np.ndarray) -> np.ndarray:
            found = np.tile(share, (len(rows), 1))
            found[:, varies] = learned(rows)
            return found

        return probs

    @abstractmethod
    def _learn(self, inputs: np.ndarray, labels: np.ndarray) -> Probs:
        """Fit the library's model and return its probabilities as a function of rows."""


class SklearnChains(LabelPeer):
    """`sklearn.multioutput.ClassifierChain` over logistic regressions: the mean of several chains in random orders."""

    library = "scikit-learn"

    def __init__(
        self, *, C: float = 0.02, num_chains: int = 5, objective: str = "micro_f1", random_state: int = 0
    ) -> None:
        super().__init__(objective=objective, random_state=random_state)
        self.C = C
        self.num_chains = num_chains

    def _learn(self, inputs: np.ndarray, labels: np.ndarray) -> Probs:
        from sklearn.linear_model import LogisticRegression
        from sklearn.multioutput import ClassifierChain

        chains = [
            ClassifierChain(
                LogisticRegression(C=self.C, max_iter=500), order="random", random_state=self.random_state + number
            ).fit(inputs, labels)
            for number in range(self.num_chains)
        ]
        return lambda rows: np.mean([chain.predict_proba(rows) for chain in chains], axis=0)


class SklearnLabelForest(LabelPeer):
    """`sklearn.ensemble.RandomForestClassifier` on all labels at once."""

    library = "scikit-learn"

    def __init__(
        self,
        *,
        n_estimators: int = 200,
        min_samples_leaf: int = 2,
        objective: str = "micro_f1",
        random_state: int = 0,
    ) -> None:
        super().__init__(objective=objective, random_state=random_state)
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf

    def _learn(self, inputs: np.ndarray, labels: np.ndarray) -> Probs:
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(
            self.n_estimators, min_samples_leaf=self.min_samples_leaf, random_state=self.random_state
        )
        forest.fit(inputs, labels)
        return lambda rows: np.stack([probs[:, 1] for probs in forest.predict_proba(rows)], axis=1)


class SklearnCountForest:
    """`sklearn.ensemble.RandomForestRegressor` of counts per class, from flat pixels or columns."""

    library = "scikit-learn"

    def __init__(self, *, n_estimators: int = 100, max_features: float | str = "sqrt", random_state: int = 0) -> None:
        self.arguments: dict[str, Any] = {
            "n_estimators": n_estimators,
            "max_features": max_features,
            "random_state": random_state,
        }

    def fit(self, data: LabelledArrays, validation: LabelledArrays | None = None) -> Self:
        """Fit on all rows; peers choose nothing on validation data."""
        del validation
        from sklearn.ensemble import RandomForestRegressor

        self.forest_ = RandomForestRegressor(**self.arguments)
        self.forest_.fit(data.inputs.reshape(len(data), -1), data.targets)
        return self

    def evaluate(self, data: LabelledArrays) -> dict[str, float]:
        """Return the mean squared error of predicted and of rounded counts, and the share of rows all right."""
        assert data.targets is not None
        predicted = self.forest_.predict(data.inputs.reshape(len(data), -1))
        whole = np.rint(predicted)
        return {
            "mse": float(np.square(predicted - data.targets).mean()),
            "mse_whole": float(np.square(whole - data.targets).mean()),
            "exact": float((whole == data.targets).all(axis=1).mean()),
        }
