"""Networks by name, and the weights that fit them."""

from __future__ import annotations

import pytest
import torch

from gossamer.models.lowrank.classifier_networks import check_weights, drop_counters_, load_pretrained_, make_network


def test_networks_by_name():
    assert make_network("mlp", (4,), 3, [5])(torch.zeros(2, 4)).shape == (2, 3)
    assert make_network("mlp", (1, 2, 2), 3, [])(torch.zeros(2, 1, 2, 2)).shape == (2, 3)
    network = make_network("resnet20", (3, 32, 32), 10, [])
    drop_counters_(network)
    assert not [name for name in network.state_dict() if "num_batches" in name]
    with pytest.raises(ValueError, match=r"data must be images of 3 channels for the network 'nin', got shape \(4,\)"):
        make_network("nin", (4,), 10, [])


def test_unknown_weights_are_named():
    check_weights(None)
    with pytest.raises(ValueError, match=r"weights must be None or one of 'cifar10-resnet20', .*, got 'imagenet'"):
        check_weights("imagenet")


@pytest.mark.data
@pytest.mark.parametrize(("name", "weights"), [("resnet20", "cifar10-resnet20"), ("nin", "cifar10-nin")])
def test_weights_fit(name, weights):
    network = make_network(name, (3, 32, 32), 10, [])
    before = [value.clone() for value in network.parameters() if value.ndim > 1]
    load_pretrained_(network, name, weights)
    after = [value for value in network.parameters() if value.ndim > 1]
    assert not any(torch.equal(*both) for both in zip(before, after, strict=True))


@pytest.mark.data
def test_weights_of_another_network_are_refused():
    with pytest.raises(ValueError, match="weights must be those of resnet32, got 'cifar10-resnet20'"):
        load_pretrained_(make_network("resnet32", (3, 32, 32), 10, []), "resnet32", "cifar10-resnet20")
