"""Reading and standardising: sparse and dense labels, numbers of the training rows, constant columns at zero."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy import sparse

from gossamer.data.arrays import LabelledArrays
from gossamer.models.discrete.label_data import Scaler, check_labels, read_labels


def test_columns_are_standardised_by_the_training_rows() -> None:
    generator = np.random.default_rng(0)
    inputs = generator.normal(3, 5, size=(50, 4))
    scaler = Scaler.fit(inputs)
    scaled = scaler(inputs)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-6)
    np.testing.assert_allclose(scaler(inputs[:1] + scaler.scale), scaled[:1] + 1, rtol=1e-5)


def test_constant_columns_are_zero_for_new_values_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        scaler = Scaler.fit(np.array([[1.0, 0.1], [2.0, 0.1], [3.0, 0.1]]))
    assert "1 of 2 columns are constant in training" in caplog.text
    assert scaler(np.array([[2.0, 77.0]])).tolist() == [[0.0, 0.0]]


def test_labels_may_be_sparse_or_boolean() -> None:
    table = np.array([[1, 0], [0, 1]])
    for given in (table, sparse.csr_array(table), table.astype(bool), table.tolist(), table.astype(float)):
        np.testing.assert_array_equal(check_labels("y", given), table)


def test_names_come_from_labelled_arrays_else_they_are_numbers() -> None:
    data = LabelledArrays(np.zeros((2, 1)), np.array([[1, 0], [0, 1]]), target_names=("owl", "tit"))
    assert list(read_labels(data, None, 2)[1]) == ["owl", "tit"]
    assert list(read_labels(data.inputs, data.targets, 2)[1]) == [0, 1]
