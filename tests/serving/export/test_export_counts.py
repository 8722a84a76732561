"""Count models beyond the contracts: every kind of input and activation."""

from __future__ import annotations

import pytest

from gossamer.models.counts import CDAE, CountRecommender, CountVAE
from gossamer.serving.export.onnx_file import draw_graph
from gossamer.testing.export_parity import assert_parity
from gossamer.testing.right_answers import two_blocks, two_themes

pytest.importorskip("onnxruntime")
SMALL = {"epochs": 1, "batch_size": 8}


@pytest.mark.parametrize(
    ("inputs", "activation"), [("tfidf", "relu"), ("norm", "tanh"), ("counts", "softplus"), ("l2", "relu")]
)
def test_inputs_and_activations(inputs, activation):
    data = two_themes()
    model = CountVAE(
        latent_dim=2, encoder_dims=[4, 3], decoder_dims=[3], inputs=inputs, activation=activation, **SMALL
    ).fit(data.train)
    assert_parity(model, data.test)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "identity"])
def test_autoencoder(activation):
    data = two_blocks().history
    assert_parity(CDAE(hidden_dim=4, activation=activation, inputs="l2", **SMALL).fit(data), data)


def test_scaled_inputs_and_what_is_left_out():
    data = two_blocks().history
    settings = {"latent_dim": 2, "encoder_dims": [4], "decoder_dims": [], "input_scale": 3.0, "scoring": "both"}
    model = CountRecommender(**settings, **SMALL).fit(data)
    assert "refinement is a search" in draw_graph(model).answers
    assert_parity(model, data)
