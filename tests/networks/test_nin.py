from __future__ import annotations

import pytest
import torch

from gossamer.networks.nin import NIN, names_from_caffe


def test_maps_of_classes_are_averaged():
    network = NIN(num_classes=4)
    assert network(torch.randn(2, 3, 32, 32)).shape == (2, 4)
    assert (network(torch.randn(2, 3, 32, 32)) >= 0).all()


def test_images_may_have_other_sizes():
    assert NIN()(torch.randn(1, 3, 20, 24)).shape == (1, 10)


def test_it_has_the_published_size():
    assert sum(parameter.numel() for parameter in NIN().parameters()) == 966_986


@pytest.mark.data
def test_pretrained_weights_fit():
    from gossamer import datasets

    stored = names_from_caffe(datasets.load("cifar10-nin"))
    network = NIN()
    network.load_state_dict(stored)
    assert all(torch.equal(value, stored[name]) for name, value in network.state_dict().items())
