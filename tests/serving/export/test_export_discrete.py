"""The discrete family beyond the contracts: kinds of observations, uneven slots, images, kinds of labels."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.arrays import LabelledArrays
from gossamer.models.discrete import (
    GumbelVAE,
    LinearLabelClassifier,
    SparseCountRegressor,
    SparseDiscreteVAE,
    SparseLabelClassifier,
)
from gossamer.testing.export_parity import assert_parity
from gossamer.testing.right_answers import lit_lamps, two_patterns, two_themes

pytest.importorskip("onnxruntime")
SMALL = {"epochs": 1, "batch_size": 16}
NETWORK = {"encoder_dims": [6], "decoder_dims": [6], **SMALL}


@pytest.mark.parametrize("activation", ["relu", "tanh", "silu"])
def test_uneven_slots_of_real_columns(activation):
    data = lit_lamps()
    model = SparseDiscreteVAE(
        observation="real", num_features=7, max_active=3, prior="chain", activation=activation, **NETWORK
    )
    assert_parity(model.fit(data.train), data.test)


def test_codes_of_counts():
    data = two_themes()
    model = SparseDiscreteVAE(observation="counts", num_features=6, max_active=4, codes="shared", **NETWORK)
    assert_parity(model.fit(data.train), data.test)


@pytest.mark.parametrize("kind", ["bernoulli", "categorical"])
def test_binarised_rows(kind):
    data = two_patterns()
    model = GumbelVAE(kind=kind, num_features=6, num_options=3, binarisation="threshold", **NETWORK)
    assert_parity(model.fit(data.train), data.test)


@pytest.mark.parametrize("loss", ["logistic", "softmax", "sparsemax"])
def test_linear_labels(loss):
    data = lit_lamps()
    assert_parity(LinearLabelClassifier(loss=loss, penalty=0.01).fit(data.train), data.test, tolerance=1e-4)


def test_relaxed_labels_of_squashed_columns():
    data = lit_lamps()
    model = SparseLabelClassifier(
        likelihood="relaxed", squash=True, hidden_dims=[], num_folds=2, num_repeats=1, epochs=5, max_active=2
    )
    assert_parity(model.fit(data.train), data.test)


def test_counts_of_images():
    rng = np.random.default_rng(0)
    images = rng.random((12, 14, 20)).astype(np.float32)
    data = LabelledArrays(images, rng.integers(0, 2, (12, 2)), target_names=("a", "b"))
    model = SparseCountRegressor(encoder="conv", channels=[4, 6], epochs=1, batch_size=12).fit(data)
    assert_parity(model, data)
