"""What all models of labels share: reading, standardising, thresholds, the limit on labels, scores and the artifact."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.data.arrays import LabelledArrays
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.labels import macro_scores, micro_scores, per_example_scores
from gossamer.models.discrete.label_data import Scaler, check_labels, read_inputs, read_labels
from gossamer.models.discrete.label_thresholds import OBJECTIVES, PER_LABEL, PER_MODEL, switch_on
from gossamer.persistence import JSON, Persistent, check_array, check_names


class LabelModel(ClassifierMixin, Persistent, BaseEstimator, ABC):
    """A classifier of rows with several labels each; subclasses learn probabilities, thresholds and a limit."""

    thresholds_: np.ndarray
    max_active_: int

    def fit(self, data: LabelledArrays, y: Any = None, *, validation: LabelledArrays | None = None) -> Self:
        """Learn from LabelledArrays, or from a table `data` and a 0/1 table `y` of labels.

        Choices are made by cross-validation inside `data`: `validation`, also in the place of `y`, is not looked at.
        """
        del validation
        inputs, labels = self._read(data, y)
        self.scaler_ = Scaler.fit(inputs)
        self._learn(self.scaler_(inputs), labels)
        return self

    def _read(self, data: Any, y: Any) -> tuple[Float[np.ndarray, "N D"], Int[np.ndarray, "N K"]]:
        """Return rows and their labels, checked as are the arguments; remember the names of the labels."""
        self._check_arguments()
        y = None if isinstance(y, LabelledArrays) else y
        inputs = read_inputs(self, data, reset=True)
        labels, self.labels_ = read_labels(data, y, len(inputs))
        if len(inputs) < 2:
            raise ValueError(f"data must have at least 2 rows, got n_samples = {len(inputs)}")
        self.classes_ = np.arange(labels.shape[1])
        return inputs, labels

    def predict_proba(self, data: Any) -> Float[np.ndarray, "N K"]:
        """Return the probability of every label."""
        check_is_fitted(self, "thresholds_")
        return self._probs(self.scaler_(read_inputs(self, data, reset=False)))

    def predict(self, data: Any) -> Int[np.ndarray, "N K"]:
        """Return 0/1 labels, at most `max_active_` in every row."""
        return switch_on(self.predict_proba(data), self.thresholds_, self.max_active_).astype(np.int64)

    def evaluate(self, data: LabelledArrays) -> dict[str, float]:
        """Return micro and macro F1, the mean F1 of examples, and how many labels a row is given on average.

        "macro_f1" counts a label that is neither predicted nor there as 0, "macro_f1_absent_as_1" as 1: papers differ.
        """
        check_is_fitted(self, "thresholds_")
        if not isinstance(data, LabelledArrays) or data.targets is None:
            raise ValueError(f"data must be LabelledArrays with labels, got {type(data).__name__}")
        truth, predicted = check_labels("labels", data.targets), self.predict(data)
        return {
            "micro_f1": micro_scores(predicted, truth).f1,
            "macro_f1": macro_scores(predicted, truth).f1,
            "macro_f1_absent_as_1": macro_scores(predicted, truth, zero_division=1.0).f1,
            "example_f1": float(per_example_scores(predicted, truth).f1.mean()),
            "mean_active": float(predicted.sum(axis=1).mean()),
        }

    @abstractmethod
    def _check_arguments(self) -> None:
        """Check the constructor's arguments by name."""

    @abstractmethod
    def _learn(self, inputs: Float[np.ndarray, "N D"], labels: Int[np.ndarray, "N K"]) -> None:
        """Learn from standardised rows; set `thresholds_` and `max_active_`."""

    @abstractmethod
    def _probs(self, inputs: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        """Return probabilities of standardised rows."""

    @abstractmethod
    def _own_arrays(self) -> dict[str, np.ndarray]:
        """Return what the subclass has learned."""

    @abstractmethod
    def _restore_own(self, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, JSON]) -> None:
        """Take back what the subclass has learned, checked."""

    def _own_metadata(self) -> dict[str, JSON]:
        return {}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return means and scales of columns, thresholds of labels, and what the subclass has learned."""
        check_is_fitted(self, "thresholds_")
        return {
            "mean": self.scaler_.mean,
            "scale": self.scaler_.scale,
            "thresholds": self.thresholds_,
            **self._own_arrays(),
        }

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the names of the labels."""
        return {"labels": self.labels_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the limit on labels, and what the subclass wants to remember."""
        check_is_fitted(self, "thresholds_")
        return {"max_active": self.max_active_, **self._own_metadata()}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"labels"}, "vocabularies")
        self._check_arguments()
        self.labels_ = vocabularies["labels"]
        num_labels = len(self.labels_)
        self.classes_ = np.arange(num_labels)
        mean = check_array(arrays, "mean", np.float64, (None,))
        self.scaler_ = Scaler(mean, check_array(arrays, "scale", np.float64, mean.shape))
        self.n_features_in_ = len(mean)
        self.max_active_ = check_int("max_active", metadata["max_active"], at_least=1, at_most=num_labels)
        self._restore_own(arrays, metadata)
        self.thresholds_ = check_array(arrays, "thresholds", np.float64, (num_labels,))

    def __sklearn_tags__(self) -> Any:
        """Say that labels come as a table: one label per row is for other classifiers."""
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags


def check_threshold(threshold: object, objective: object) -> None:
    """Check how labels are switched on: a number, or by cross-validation for one of the F1s."""
    if threshold not in (PER_MODEL, PER_LABEL):
        try:
            check_real("threshold", threshold, at_least=0, below=1)
        except ValueError as error:
            wanted = f"a number >= 0 and < 1, {PER_MODEL!r} or {PER_LABEL!r}"
            raise ValueError(f"threshold must be {wanted}, got {threshold!r}") from error
    check_choice("objective", objective, OBJECTIVES)
