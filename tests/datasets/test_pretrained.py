from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save

from gossamer import datasets
from gossamer.datasets import pretrained


def test_tensors_come_by_name_and_are_counted(put, monkeypatch):
    put("pretrained/resnet20.safetensors", save({"conv1.weight": np.ones((2, 3), dtype=np.float32)}))
    with pytest.raises(ValueError, match="must hold 271,098 values, got 6"):
        datasets.load_weights("cifar10-resnet20")
    network = replace(pretrained.NETWORKS["cifar10-resnet20"], num_values=6)
    monkeypatch.setitem(pretrained.NETWORKS, "cifar10-resnet20", network)
    assert datasets.load("cifar10-resnet20")["conv1.weight"].sum() == 6


def test_other_files_and_names_are_refused(put):
    put("pretrained/cifar10_nin.safetensors", b"\x80\x04pickle")
    with pytest.raises(ValueError, match=r"cifar10_nin\.safetensors must be a safetensors file, got"):
        datasets.load_weights("cifar10-nin")
    with pytest.raises(ValueError, match=r"name must be one of 'cifar10-resnet20', .*, got 'vgg'"):
        datasets.load_weights("vgg")


@pytest.mark.data
def test_real_weights():
    weights = datasets.load_weights("cifar10-resnet20")
    learned = [tensor for name, tensor in weights.items() if "running" not in name and "num_batches" not in name]
    assert sum(tensor.numel() for tensor in learned) == 269_722
    for name in pretrained.NETWORKS:
        assert datasets.load_weights(name)
