"""ML-kNN: a label is on when it is likelier than not, given how many of the nearest neighbours have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from gossamer.core.checks import check_int, check_real
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.models.discrete.label_model import LabelModel, check_threshold
from gossamer.models.discrete.label_thresholds import PER_LABEL, PER_MODEL, choose_thresholds
from gossamer.models.discrete.label_training import draw_folds
from gossamer.persistence import JSON, check_array


def nearest_rows(
    queries: Float[np.ndarray, "Q D"], rows: Float[np.ndarray, "N D"], k: int, *, skip_self: bool = False
) -> Int[np.ndarray, "Q k"]:
    """Return the k nearest rows by Euclidean distance, ties by number; `skip_self` where query q is row q."""
    distances = (rows**2).sum(axis=1) - 2 * queries @ rows.T
    if skip_self:
        np.fill_diagonal(distances, np.inf)
    nearest: np.ndarray = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return nearest


def neighbour_tables(
    counts: Int[np.ndarray, "N K"], labels: Int[np.ndarray, "N K"], k: int, smoothing: float
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, "2 K k1"]]:
    """Return P(label) and P(j neighbours have it | label off, on), j = 0 … k: equations (6)–(8) of the paper.

    `counts` says of how many of a row's k neighbours each label is. Every count has `smoothing` added (1: Laplace's).
    """
    num_rows, num_labels = labels.shape
    prior = (smoothing + labels.sum(axis=0)) / (2 * smoothing + num_rows)
    tables = np.full((2, num_labels, k + 1), float(smoothing))
    columns = np.broadcast_to(np.arange(num_labels), labels.shape)
    np.add.at(tables, (labels, columns, counts), 1)
    return prior, tables / tables.sum(axis=2, keepdims=True)


def posterior_probs(
    counts: Int[np.ndarray, "Q K"], prior: Float[np.ndarray, " K"], tables: Float[np.ndarray, "2 K k1"]
) -> Float[np.ndarray, "Q K"]:
    """Return P(label | number of neighbours that have it), by Bayes' rule."""
    columns = np.arange(len(prior))
    off, on = (1 - prior) * tables[0, columns, counts], prior * tables[1, columns, counts]
    probs: np.ndarray = on / (on + off)
    return probs


class MLkNN(LabelModel):
    """Multi-label k nearest neighbours (Zhang and Zhou, Pattern Recognition 2007), on standardised columns.

    The `threshold` is theirs, 0.5, or chosen by `num_folds`-fold cross-validation for the `objective` ("cv"). A row
    without labels is a neighbour like others.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "micro_f1",
        {
            "num_neighbours": Integer(3, 50, log=True),
            "smoothing": Real(0.1, 10, log=True),
        },
    )

    def __init__(
        self,
        *,
        num_neighbours: int = 10,
        smoothing: float = 1.0,
        threshold: float | str = 0.5,
        objective: str = "micro_f1",
        num_folds: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.num_neighbours = num_neighbours
        self.smoothing = smoothing
        self.threshold = threshold
        self.objective = objective
        self.num_folds = num_folds
        self.random_state = random_state

    def _check_arguments(self) -> None:
        check_int("num_neighbours", self.num_neighbours, at_least=1)
        check_real("smoothing", self.smoothing, above=0)
        check_threshold(self.threshold, self.objective)
        check_int("num_folds", self.num_folds, at_least=2)
        if self.random_state is not None:
            check_int("random_state", self.random_state, at_least=0)

    def _learn(self, inputs: Float[np.ndarray, "N D"], labels: Int[np.ndarray, "N K"]) -> None:
        self.max_active_ = labels.shape[1]
        probs = np.zeros(labels.shape)
        if self.threshold in (PER_MODEL, PER_LABEL):
            for fold in draw_folds(len(inputs), min(self.num_folds, len(inputs)), 1, self.random_state):
                self._remember(inputs[~fold], labels[~fold])
                probs[fold] = self._probs(inputs[fold])
        self.thresholds_, _ = choose_thresholds(
            probs, labels, self.max_active_, how=self.threshold, objective=self.objective
        )
        self._remember(inputs, labels)

    def _remember(self, inputs: np.ndarray, labels: np.ndarray) -> None:
        k = min(self.num_neighbours, len(inputs) - 1)
        self.inputs_, self.neighbour_labels_ = inputs, labels
        counts = labels[nearest_rows(inputs, inputs, k, skip_self=True)].sum(axis=1)
        self.prior_, self.tables_ = neighbour_tables(counts, labels, k, self.smoothing)

    def _probs(self, inputs: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        k = self.tables_.shape[2] - 1
        counts = self.neighbour_labels_[nearest_rows(inputs, self.inputs_, k)].sum(axis=1)
        return posterior_probs(counts, self.prior_, self.tables_)

    def _own_arrays(self) -> dict[str, np.ndarray]:
        return {
            "inputs": self.inputs_,
            "labels": self.neighbour_labels_.astype(np.uint8),
            "prior": self.prior_,
            "tables": self.tables_,
        }

    def _restore_own(self, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, JSON]) -> None:
        del metadata  # nothing of it is needed
        num_labels = len(self.labels_)
        self.inputs_ = check_array(arrays, "inputs", np.float32, (None, self.n_features_in_))
        labels = check_array(arrays, "labels", np.uint8, (len(self.inputs_), num_labels))
        self.neighbour_labels_ = labels.astype(np.int64)
        self.prior_ = check_array(arrays, "prior", np.float64, (num_labels,))
        k = min(self.num_neighbours, len(self.inputs_) - 1)
        self.tables_ = check_array(arrays, "tables", np.float64, (2, num_labels, k + 1))
