from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from gossamer.networks.resnet import ResidualBlock, ResNet


def test_a_block_by_hand():
    block = ResidualBlock(2, 4, 2).eval()
    images = torch.randn(1, 2, 6, 6)
    hidden = functional.relu(block.bn1(block.conv1(images)))
    response = block.bn2(block.conv2(hidden))
    shortcut = torch.zeros(1, 4, 3, 3)
    shortcut[:, 1:3] = images[:, :, ::2, ::2]
    torch.testing.assert_close(block(images), functional.relu(response + shortcut))


def test_resnet_20_has_the_published_size():
    assert sum(parameter.numel() for parameter in ResNet(20).parameters()) == 269_722
    values = [tensor.numel() for tensor in ResNet(56).state_dict().values() if tensor.is_floating_point()]
    assert sum(values) == 857_082


def test_other_depths_are_refused():
    with pytest.raises(ValueError, match=r"depth must be 6n \+ 2, such as 20, 32 or 56, got 18"):
        ResNet(18)


@pytest.mark.data
def test_pretrained_weights_fit_and_know_their_images():
    from gossamer import datasets

    network = ResNet(20)
    network.load_state_dict(datasets.load("cifar10-resnet20"))
    data = datasets.load("cifar10", part="test")[:60]
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    images = (torch.tensor(data.inputs) / 255 - mean.view(3, 1, 1)) / deviation.view(3, 1, 1)
    with torch.no_grad():
        answers = network.eval()(images).argmax(dim=1).numpy()
    assert (answers == data.targets).mean() > 0.8
