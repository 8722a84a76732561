"""Torch modules, translated, answer as torch does."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from gossamer.networks.nin import NIN
from gossamer.networks.resnet import ResNet
from gossamer.serving.export.graph import Graph
from gossamer.serving.export.layers import run_module

onnxruntime = pytest.importorskip("onnxruntime")


def assert_same(module, *shape):
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    module.eval()
    inputs = torch.randn(2, *shape)
    graph = Graph()
    given = graph.input("x", np.float32, "batch", *shape)
    with torch.no_grad():
        expected = module(inputs)
    graph.output("y", run_module(graph, module, given), np.float32, "batch", *expected.shape[1:])
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    for rows in (slice(0, 1), slice(0, 2)):
        found = session.run(None, {"x": inputs[rows].numpy()})[0]
        scale = float(expected[rows].abs().max())
        np.testing.assert_allclose(found / scale, expected[rows] / scale, atol=2e-5)


def test_dense_layers():
    assert_same(nn.Linear(3, 2, bias=False), 3)
    layers = [nn.Linear(3, 4), nn.BatchNorm1d(4), nn.SiLU(), nn.Dropout(), nn.Tanh(), nn.LeakyReLU(), nn.Identity()]
    assert_same(nn.Sequential(*layers, nn.Linear(4, 2), nn.ReLU()), 3)


def test_convolutions():
    image = nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.GroupNorm(2, 4), nn.Sigmoid(), nn.Flatten(), nn.Linear(36, 2)
    )
    assert_same(image, 3, 6, 6)
    assert_same(nn.Conv1d(3, 4, 3, dilation=2, padding=1, groups=1, bias=False), 3, 9)


@pytest.mark.parametrize("network", [ResNet(8), NIN()], ids=["resnet", "nin"])
def test_networks_for_images(network):
    assert_same(network, 3, 16, 16)


def test_what_is_not_known_is_named():
    graph = Graph()
    x = graph.input("x", np.float32, "batch", 4)
    with pytest.raises(ValueError, match=r"the network must be of layers that ONNX export knows, got Softmax"):
        run_module(graph, nn.Softmax(dim=1), x)

    class Odd(nn.Module):
        def forward(self, x):
            return torch.erf(x)

    with pytest.raises(ValueError, match=r"the network must be of layers that ONNX export knows, got .*erf"):
        run_module(graph, Odd(), x)

    class Pool(nn.Module):
        def forward(self, x):
            return nn.functional.max_pool2d(x, 3, padding=1)

    with pytest.raises(ValueError, match="padding must be left out of pooling to be exported, got 1"):
        run_module(graph, Pool(), x)
    with pytest.raises(ValueError, match="convolutions must be padded with a number of zeros"):
        run_module(graph, nn.Conv1d(1, 1, 3, padding="same"), x)
