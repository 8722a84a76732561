"""The networks that `CompressedClassifier` knows, how they like their inputs, and where their weights are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from torch import nn

from gossamer.datasets.pretrained import NETWORKS as PRETRAINED
from gossamer.datasets.pretrained import load_weights
from gossamer.networks.nin import NIN, names_from_caffe
from gossamer.networks.resnet import ResNet

# name → preparation of its inputs
PREPARED = {"mlp": "columns", "resnet20": "standard", "resnet32": "standard", "resnet56": "standard", "nin": "whitened"}


def make_network(name: str, shape: Sequence[int], num_classes: int, hidden_dims: Sequence[int]) -> nn.Module:
    """Return a new network for inputs of `shape`."""
    if name == "mlp":
        widths = [int(np.prod(shape)), *hidden_dims]
        layers: list[nn.Module] = [nn.Flatten()]
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
        network: nn.Module = nn.Sequential(*layers, nn.Linear(widths[-1], num_classes))
    else:
        if len(shape) != 3 or shape[0] != 3:
            raise ValueError(f"data must be images of 3 channels for the network {name!r}, got shape {tuple(shape)}")
        network = NIN(num_classes) if name == "nin" else ResNet(int(name.removeprefix("resnet")), num_classes)
    return network


def load_pretrained_(network: nn.Module, name: str, weights: str) -> None:
    """Give a network the weights of a data set such as "cifar10-resnet20"."""
    tensors = load_weights(weights)
    tensors = names_from_caffe(tensors) if name == "nin" else tensors
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise ValueError(f"weights must be those of {name}, got {weights!r}: {error}") from None


def check_weights(weights: object) -> None:
    """Check the name of pretrained weights, or None."""
    if weights is not None and weights not in PRETRAINED:
        raise ValueError(f"weights must be None or one of {', '.join(map(repr, PRETRAINED))}, got {weights!r}")


def drop_counters_(network: nn.Module) -> None:
    """Let batch norms forget how many batches they have seen: no artifact needs it."""
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.num_batches_tracked = None
