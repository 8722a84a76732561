"""Linear models of labels with logistic, softmax and sparsemax losses, fitted as Martins and Astudillo (2016) do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import optimize
from scipy.special import expit, log_softmax

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.search_space import Choice, SearchSpace
from gossamer.core.sparsemax import sparsemax, sparsemax_loss
from gossamer.models.discrete.label_model import LabelModel, check_threshold
from gossamer.models.discrete.label_thresholds import GRID, PER_LABEL, PER_MODEL, choose_thresholds, share_grid
from gossamer.models.discrete.label_training import draw_folds
from gossamer.persistence import JSON, check_array

logger = logging.getLogger(__name__)

PENALTIES = tuple(10.0**power for power in range(-4, 2))
SCALES = tuple(0.5 * step for step in range(1, 11))  # of sparsemax's scores: theirs, in place of a threshold

Scores = Float[np.ndarray, "N K"]
LossAndProbs = Callable[[Scores, Scores], tuple[float, Scores]]


def logistic_loss(scores: Scores, target: Scores) -> tuple[float, Scores]:
    """Return the sum over rows of the K binary cross-entropies, and σ(scores)."""
    return float((np.logaddexp(0, scores) - target * scores).sum()), expit(scores)


def softmax_loss(scores: Scores, target: Scores) -> tuple[float, Scores]:
    """Return the sum over rows of the cross-entropy with a target distribution, and softmax(scores)."""
    log_probs = log_softmax(scores, axis=1)
    return float(-(target * log_probs).sum()), np.exp(log_probs)


def sparse_loss(scores: Scores, target: Scores) -> tuple[float, Scores]:
    """Return the sum over rows of the sparsemax loss, and sparsemax(scores)."""
    as_tensor = torch.from_numpy(scores)
    return float(sparsemax_loss(as_tensor, torch.from_numpy(target)).sum()), sparsemax(as_tensor).numpy()


LOSSES: dict[str, LossAndProbs] = {"logistic": logistic_loss, "softmax": softmax_loss, "sparsemax": sparse_loss}


def fit_linear(
    inputs: Float[np.ndarray, "N D"],
    target: Float[np.ndarray, "N K"],
    loss: LossAndProbs,
    penalty: float,
    *,
    max_iterations: int = 100,
    start: Float[np.ndarray, "D1 K"] | None = None,
) -> Float[np.ndarray, "D1 K"]:
    """Minimise mean loss + penalty/2 ‖W‖² by L-BFGS; the last row is the bias, which is not penalised.

    All three losses have the gradient (probabilities − target) with respect to the scores.
    """
    columns = np.hstack([inputs.astype(np.float64), np.ones((len(inputs), 1))])
    shape = (columns.shape[1], target.shape[1])
    shrunk = np.full((shape[0], 1), penalty)
    shrunk[-1] = 0

    def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        total, probs = loss(columns @ weights, target)
        gradient = columns.T @ (probs - target) / len(columns) + shrunk * weights
        return total / len(columns) + 0.5 * float((shrunk * weights**2).sum()), gradient.ravel()

    begin = np.zeros(shape) if start is None else start
    found = optimize.minimize(
        value_and_gradient, begin.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iterations}
    )
    weights: np.ndarray = found.x.reshape(shape)
    return weights


class LinearLabelClassifier(LabelModel):
    """Scores x·W + b and the `loss` "logistic" (a model per label), "softmax" or "sparsemax" (uniform over the labels).

    By `num_folds`-fold cross-validation, for the `objective`: the `penalty` (10⁻⁴ … 10 when "cv") and the `threshold`
    on probabilities; sparsemax has exact zeros, so any probability above 0 is a label, and "cv" chooses the scale
    0.5 … 5 of the scores instead. Rows without labels say nothing to softmax and sparsemax, which leave them out and
    say so in the log; to the logistic loss they are rows like others. The number of labels of a row has no limit.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "micro_f1",
        {
            "loss": Choice(("logistic", "softmax", "sparsemax")),
        },
    )

    def __init__(
        self,
        *,
        loss: str = "logistic",
        penalty: float | str = PER_MODEL,
        threshold: float | str = PER_MODEL,
        objective: str = "micro_f1",
        max_iterations: int = 100,
        num_folds: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.threshold = threshold
        self.objective = objective
        self.max_iterations = max_iterations
        self.num_folds = num_folds
        self.random_state = random_state

    def _check_arguments(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        if self.penalty != PER_MODEL:
            try:
                check_real("penalty", self.penalty, above=0)
            except ValueError as error:
                raise ValueError(f"penalty must be a number > 0 or {PER_MODEL!r}, got {self.penalty!r}") from error
        check_threshold(self.threshold, self.objective)
        check_int("max_iterations", self.max_iterations, at_least=1)
        check_int("num_folds", self.num_folds, at_least=2)
        if self.random_state is not None:
            check_int("random_state", self.random_state, at_least=0)

    def _learn(self, inputs: Float[np.ndarray, "N D"], labels: Int[np.ndarray, "N K"]) -> None:
        target = labels.astype(np.float64)
        if self.loss != "logistic":
            has_labels = labels.sum(axis=1) > 0
            if not has_labels.any():
                raise ValueError(f"labels must be there for loss={self.loss!r}, got {len(labels)} rows without any")
            if not has_labels.all():
                logger.warning("%d rows without labels are left out of the %s loss", (~has_labels).sum(), self.loss)
            inputs, labels = inputs[has_labels], labels[has_labels]
            target = labels / labels.sum(axis=1, keepdims=True)
        self.max_active_ = labels.shape[1]
        penalties = PENALTIES if self.penalty == PER_MODEL else [float(self.penalty)]
        held_out = draw_folds(len(inputs), min(self.num_folds, len(inputs)), 1, self.random_state)
        scores = {penalty: np.zeros(labels.shape) for penalty in penalties}
        for fold in held_out:
            weights = None
            for penalty in sorted(penalties, reverse=True):  # each begins where the stronger one ended
                weights = self._fit(inputs[~fold], target[~fold], penalty, weights)
                scores[penalty][fold] = _scores(inputs[fold], weights)
        best = -1.0
        for penalty in penalties:
            for scale in self._scales():
                probs = self._link(scale * scores[penalty])
                how = 0.0 if self._is_sparse else self.threshold
                thresholds, value = choose_thresholds(
                    probs, labels, self.max_active_, how=how, objective=self.objective, grid=self._grid(labels.shape[1])
                )
                if value > best:
                    best, self.thresholds_, self.scale_, self.penalty_ = value, thresholds, scale, penalty
        self.weights_ = self._fit(inputs, target, self.penalty_, None)

    def _fit(self, inputs: np.ndarray, target: np.ndarray, penalty: float, start: np.ndarray | None) -> np.ndarray:
        return fit_linear(inputs, target, LOSSES[self.loss], penalty, max_iterations=self.max_iterations, start=start)

    @property
    def _is_sparse(self) -> bool:
        return self.loss == "sparsemax" and self.threshold in (PER_MODEL, PER_LABEL)

    def _scales(self) -> Sequence[float]:
        return SCALES if self._is_sparse else (1.0,)

    def _grid(self, num_labels: int) -> Sequence[float]:
        # Softmax divides one among all labels of a row: where there are many, none of them may reach the least of GRID.
        return share_grid(num_labels) if self.loss == "softmax" else GRID

    def _link(self, scores: Scores) -> Scores:
        return LOSSES[self.loss](scores, np.full_like(scores, 1 / scores.shape[1]))[1]

    def _probs(self, inputs: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        return self._link(self.scale_ * _scores(inputs, self.weights_))

    def _own_arrays(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights_}

    def _own_metadata(self) -> dict[str, JSON]:
        return {"scale": self.scale_, "penalty": self.penalty_}

    def _restore_own(self, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, JSON]) -> None:
        shape = (self.n_features_in_ + 1, len(self.labels_))
        self.weights_ = check_array(arrays, "weights", np.float64, shape)
        self.scale_ = check_real("scale", metadata["scale"], above=0)
        self.penalty_ = check_real("penalty", metadata["penalty"], above=0)


def _scores(inputs: np.ndarray, weights: np.ndarray) -> Scores:
    scores: np.ndarray = inputs.astype(np.float64) @ weights[:-1] + weights[-1]
    return scores
