"""A step of a language model, whole or split, with an output layer of its own or tied."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from gossamer.models.lowrank import Budget, compress
from gossamer.networks.awd_lstm import AWDLSTM
from gossamer.networks.lstm import LSTMLanguageModel
from gossamer.serving.export.language import draw_language_step

onnxruntime = pytest.importorskip("onnxruntime")


def networks():
    torch.manual_seed(0)
    return {
        "tied": LSTMLanguageModel(nn.Embedding(11, 4), hidden_dim=6, num_layers=2),
        "own": LSTMLanguageModel(nn.Embedding(11, 4), hidden_dim=4, num_layers=1, tied=False, output_bias=False),
        "awd": AWDLSTM(nn.Embedding(11, 4), hidden_dim=5, num_layers=2),
    }


def assert_steps(network):
    network.eval()
    content = draw_language_step(network, 11).model({}).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    states = {value.name: np.zeros((2, value.shape[1]), np.float32) for value in session.get_inputs()[1:]}
    words = torch.randint(0, 11, (2, 5))
    with torch.no_grad():
        expected = network(words)[0].log_softmax(dim=2).numpy()
    names = [value.name for value in session.get_outputs()]
    for step in range(5):
        found = dict(zip(names, session.run(None, {"words": words[:, step].numpy(), **states}), strict=True))
        np.testing.assert_allclose(found["log_probs"], expected[:, step], atol=1e-5)
        states = {name: found[f"{name}_after"] for name in states}


@pytest.mark.parametrize("kind", ["tied", "own", "awd"])
def test_steps(kind):
    assert_steps(networks()[kind])


def test_split_layers_stay_split():
    network = networks()["tied"].eval()
    words = torch.randint(0, 11, (4, 6))
    small = compress(
        network,
        data=[(words[:, :-1], words[:, 1:])],
        budget=Budget(params=0.7),
        loss=lambda output, target: nn.functional.cross_entropy(output[0].flatten(0, 1), target.flatten()),
        allocator="pos_cvx",
    )
    assert_steps(small)
    whole, split = (draw_language_step(model, 11).num_bytes() for model in (network, small))
    assert split < whole
