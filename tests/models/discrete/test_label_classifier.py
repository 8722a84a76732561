"""SparseLabelClassifier: the limit holds, every variant finds planted labels, scikit-learn takes it for its own."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from gossamer.data.arrays import LabelledArrays
from gossamer.models.discrete.label_classifier import VARIANTS, SparseLabelClassifier
from gossamer.models.discrete.label_functional import LIKELIHOODS, RELAXED
from gossamer.testing.right_answers import lit_lamps

SMALL: dict[str, Any] = {
    "hidden_dims": [8],
    "num_folds": 2,
    "num_repeats": 1,
    "epochs": 60,
    "weight_decay": 0.1,
    "dropout": 0.0,
    "input_dropout": 0.0,
    "max_active": 2,
    "temperature": 1.0,
}
QUICK: dict[str, Any] = {**SMALL, "epochs": 2}


ONE_CLASS = "it passes one class per row: labels are a table of 0 and 1"
EXPECTED_FAILURES = {
    "check_estimators_dtypes": ONE_CLASS,
    "check_dtype_object": ONE_CLASS,
    "check_classifier_data_not_an_array": ONE_CLASS,
    "check_classifiers_classes": ONE_CLASS,
    "check_classifiers_train": ONE_CLASS,
    "check_classifier_not_supporting_multiclass": ONE_CLASS,
    "check_fit2d_1feature": ONE_CLASS,
    "check_classifier_multioutput": "it wants every label above 0.5: here thresholds are chosen and labels limited",
}


@parametrize_with_checks(
    [SparseLabelClassifier(hidden_dims=(4,), num_folds=2, num_repeats=1, epochs=2, max_active=1, temperature=1.0)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_agrees(estimator: SparseLabelClassifier, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("likelihood", [*LIKELIHOODS, RELAXED])
def test_planted_labels_are_found_by_every_variant_and_likelihood(variant: str, likelihood: str) -> None:
    parts = lit_lamps()
    model = SparseLabelClassifier(variant=variant, likelihood=likelihood, draws="straight-through", **SMALL)
    assert model.fit(parts.train).evaluate(parts.test)["micro_f1"] > 0.9
    assert (model.network_.decoder is None) == (variant == "discriminative")


MODEL = SparseLabelClassifier(**{**QUICK, "max_active": 3}).fit(lit_lamps().train)


@settings(max_examples=30)
@given(arrays(np.float64, (3, 5), elements=st.floats(-1e3, 1e3)))
def test_no_row_ever_has_more_labels_than_allowed(rows: np.ndarray) -> None:
    for limit in (1, 2, 3):
        MODEL.max_active_ = limit  # the network was trained for 3: the limit must hold whatever it says
        predicted = MODEL.predict(rows)
        assert (predicted.sum(axis=1) <= limit).all()
        probs = MODEL.predict_proba(rows)
        assert ((probs >= 0) & (probs <= 1)).all()


def test_it_works_in_cross_validation_and_chooses_its_own_settings() -> None:
    data = lit_lamps().train
    model = SparseLabelClassifier(**{**SMALL, "max_active": "cv", "temperature": [0.5, 1.0], "likelihood": RELAXED})
    scores = cross_val_score(model, data.inputs, data.targets, cv=2, scoring="f1_micro")
    assert scores.min() > 0.7
    model.fit(data)
    assert model.max_active_ in (2, 4), "the greatest number of labels of a row, and twice that"
    tried = [(trial["max_active"], trial["temperature"]) for trial in model.trials_]
    assert tried[:2] == [(2, 1.0), (4, 1.0)]
    assert len(tried) == 3, "two limits, then the other temperature"
    assert {0.5, 1.0} >= {model.temperature_}


def test_settings_are_chosen_by_the_rows_left_out(tmp_path: Path) -> None:
    parts = lit_lamps()
    none = {"learning_rate": 1e-9, "squash": False}  # nothing can be learned with it
    model = SparseLabelClassifier(**SMALL, candidates=[none, {"squash": False}, {"hidden_dims": [3], **none}])
    model.fit(parts.train)
    assert model.settings_ == {"squash": False}
    assert [trial["settings"] for trial in model.trials_] == list(model.candidates)
    plain = SparseLabelClassifier(**{**SMALL, "squash": False}).fit(parts.train)
    np.testing.assert_array_equal(model.predict_proba(parts.test), plain.predict_proba(parts.test))
    model.save(tmp_path / "model")
    again = SparseLabelClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(parts.test), plain.predict_proba(parts.test))


def test_rows_without_labels_keep_the_gates_closed() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(80, 2))
    labels = np.zeros((80, 3), dtype=np.int64)
    labels[inputs[:, 0] > 0, 1] = 1  # the others have none
    model = SparseLabelClassifier(**{**SMALL, "epochs": 60}).fit(inputs, labels)
    predicted = model.predict(np.array([[2.0, 0.0], [-2.0, 0.0]]))
    assert predicted.tolist() == [[0, 1, 0], [0, 0, 0]]


def test_a_constant_column_is_said_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    data = lit_lamps().train
    wide = np.hstack([data.inputs, np.full((len(data), 1), 1e6)])
    with caplog.at_level(logging.WARNING):
        model = SparseLabelClassifier(**QUICK).fit(wide, data.targets)
    assert "1 of 6 columns are constant in training: they tell nothing and count as 0" in caplog.text
    moved = wide.copy()
    moved[:, -1] = -3.0
    np.testing.assert_array_equal(model.predict_proba(wide), model.predict_proba(moved))


def test_bad_settings_are_named() -> None:
    data = lit_lamps().train
    with pytest.raises(ValueError, match="max_active must be at most 4, the number of labels, got 5"):
        SparseLabelClassifier(**{**QUICK, "max_active": 5}).fit(data)
    with pytest.raises(ValueError, match=r"max_active must be an integer >= 1, a list of such, or 'cv', got \[2, 0\]"):
        SparseLabelClassifier(**{**QUICK, "max_active": [2, 0]}).fit(data)
    with pytest.raises(ValueError, match=r"candidates must have arguments of the classifier, got 'squish'"):
        SparseLabelClassifier(**QUICK, candidates=[{"squish": True}]).fit(data)
    with pytest.raises(ValueError, match=r"candidates must be a list of dicts of arguments, got \[\]"):
        SparseLabelClassifier(**QUICK, candidates=[]).fit(data)
    with pytest.raises(ValueError, match=r"dropout must be a finite number >= 0 and < 1, got 2"):
        SparseLabelClassifier(**QUICK, candidates=[{"dropout": 2}]).fit(data)
    with pytest.raises(ValueError, match="data must come with labels, got none"):
        SparseLabelClassifier(**QUICK).fit(LabelledArrays(data.inputs))
    model = SparseLabelClassifier(**QUICK).fit(data)
    with pytest.raises(ValueError, match="X has 1 features, but SparseLabelClassifier is expecting 5 features"):
        model.predict([[1.0]])
