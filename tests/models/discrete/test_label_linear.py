"""Linear models of labels: exact gradients, the optimum that scikit-learn finds, and what happens to empty rows."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from gossamer.models.discrete.label_linear import LOSSES, LinearLabelClassifier, fit_linear
from gossamer.testing.right_answers import lit_lamps


def small_problem(num_rows: int = 40) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(num_rows, 3))
    labels = (inputs @ generator.normal(size=(3, 4)) + generator.normal(size=(num_rows, 4)) > 0.3).astype(np.int64)
    labels[labels.sum(axis=1) == 0, 0] = 1
    return inputs, labels


@pytest.mark.parametrize("name", LOSSES)
def test_probabilities_minus_target_are_the_gradient(name: str) -> None:
    _, labels = small_problem(3)
    target = labels / labels.sum(axis=1, keepdims=True)
    scores = np.random.default_rng(1).normal(size=target.shape)
    loss = LOSSES[name]
    difference = check_grad(
        lambda flat: loss(flat.reshape(target.shape), target)[0],
        lambda flat: (loss(flat.reshape(target.shape), target)[1] - target).ravel(),
        scores.ravel(),
    )
    assert difference < 1e-5


def test_logistic_weights_are_those_of_scikit_learn() -> None:
    inputs, labels = small_problem()
    weights = fit_linear(inputs, labels.astype(float), LOSSES["logistic"], 0.05, max_iterations=500)
    theirs = LogisticRegression(C=1 / (0.05 * len(inputs)), tol=1e-8, max_iter=1000).fit(inputs, labels[:, 1])
    np.testing.assert_allclose(weights[:-1, 1], theirs.coef_[0], atol=2e-3)
    np.testing.assert_allclose(weights[-1, 1], theirs.intercept_[0], atol=2e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_planted_labels_are_found(name: str) -> None:
    parts = lit_lamps()
    model = LinearLabelClassifier(loss=name).fit(parts.train)
    assert model.evaluate(parts.test)["micro_f1"] > 0.95
    probs = model.predict_proba(parts.test)
    if name != "logistic":
        np.testing.assert_allclose(probs.sum(axis=1), 1)
    if name == "sparsemax":
        assert (probs == 0).any()


def test_rows_without_labels_are_left_out_of_softmax_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    inputs, labels = small_problem()
    labels[:5] = 0
    with caplog.at_level(logging.WARNING):
        model = LinearLabelClassifier(loss="softmax", penalty=0.1).fit(inputs, labels)
    assert "5 rows without labels are left out of the softmax loss" in caplog.text
    # The scaler sees all rows, so only the weights can be compared with a fit that never saw them.
    assert model.weights_.shape == (4, 4)
    with pytest.raises(ValueError, match=r"labels must be there for loss='sparsemax', got 40 rows without any"):
        LinearLabelClassifier(loss="sparsemax").fit(inputs, np.zeros_like(labels))


def test_softmax_finds_rows_with_many_labels() -> None:
    # Forty of sixty labels are on in a row: an even share is 1/40, below the least threshold that others try.
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 2))
    labels = np.repeat((rows > 0).astype(int), 40, axis=1)
    labels[:, -20:] = 0
    has_labels = labels.sum(axis=1) > 0
    model = LinearLabelClassifier(loss="softmax", penalty=0.01, num_folds=2).fit(rows[has_labels], labels[has_labels])
    assert model.thresholds_.max() < 0.05
    assert (model.predict(rows[has_labels]) == labels[has_labels]).mean() > 0.85
