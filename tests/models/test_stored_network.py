from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from gossamer.models.stored_network import check_widths, network_arrays, restore_network, seeded_weights
from gossamer.networks.low_rank import LowRankConvolution, LowRankEmbedding, LowRankLinear
from gossamer.persistence.tensors import read_tensors, write_tensors


def make(seed: int) -> nn.ModuleDict:
    with seeded_weights(seed):
        return nn.ModuleDict({"encoder": nn.Linear(5, 2), "decoder": nn.Linear(2, 5)})


def test_arrays_bring_a_network_back():
    first, second = make(0), make(1)
    arrays = network_arrays(first)
    assert set(arrays) == {f"network.{name}" for name in first.state_dict()}
    for array in arrays.values():
        array.setflags(write=False)  # as arrays of a mapped file are
    restore_network(second, arrays)
    assert not second.training
    for name, value in first.state_dict().items():
        torch.testing.assert_close(second.state_dict()[name], value, rtol=0, atol=0)
    second["decoder"].weight.data.zero_()
    assert np.abs(arrays["network.decoder.weight"]).sum() > 0, "the network has memory of its own"


def test_a_network_lies_in_the_pages_of_a_mapped_file_and_never_changes_it(tmp_path):
    first, second = make(0), make(1)
    second["tied"] = second["decoder"]
    first["tied"] = first["decoder"]
    write_tensors(tmp_path / "file", network_arrays(first))
    before = (tmp_path / "file").read_bytes()
    arrays = read_tensors(tmp_path / "file", mapped=True)
    restore_network(second, arrays)
    for name, value in first.state_dict().items():
        torch.testing.assert_close(second.state_dict()[name], value, rtol=0, atol=0)
    assert second["encoder"].weight.data_ptr() == arrays["network.encoder.weight"].ctypes.data
    assert second["tied"].weight is second["decoder"].weight
    assert all(value.requires_grad for value in second.parameters())
    second["encoder"].weight.data.zero_()
    assert (tmp_path / "file").read_bytes() == before


def test_misfits_are_named():
    arrays = network_arrays(make(0))
    with pytest.raises(ValueError, match=r"array 'network.decoder.bias' must have shape \(5\), got \(10,\)"):
        restore_network(make(1), arrays | {"network.decoder.bias": np.zeros(10, np.float32)})
    with pytest.raises(ValueError, match=r"array 'network.decoder.bias' must be float32, got float64"):
        restore_network(make(1), arrays | {"network.decoder.bias": np.zeros(5)})
    with pytest.raises(ValueError, match=r"arrays must be those of the network, got also network\.more"):
        restore_network(make(1), arrays | {"network.more": np.zeros(5, np.float32)})
    del arrays["network.decoder.bias"]
    with pytest.raises(ValueError, match=r"arrays must include 'network.decoder.bias'"):
        restore_network(make(1), arrays)


def test_first_weights_depend_on_the_seed_alone_and_leave_the_global_generator():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    weights = [make(seed)["decoder"].weight for seed in (0, 0, 1)]
    torch.testing.assert_close(torch.rand(2), expected, rtol=0, atol=0)
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=0)
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("400", r"^dims must be a list of 1 or more widths, got '400'$"),
        (400, r"^dims must be a list of 1 or more widths, got 400$"),
        ([], r"^dims must be a list of 1 or more widths, got \[\]$"),
        ([4, 0], r"^dims must be an integer >= 1, got 0$"),
        ([4.5], r"^dims must be an integer >= 1, got 4\.5$"),
    ],
)
def test_widths_are_named(value: object, message: str):
    with pytest.raises(ValueError, match=message):
        check_widths("dims", value, at_least=1)


def test_widths_are_lists_or_tuples():
    assert check_widths("dims", [4, 5]) == check_widths("dims", (4, 5)) == (4, 5)
    assert check_widths("dims", []) == ()


def test_split_layers_are_split_again():
    def whole():
        return nn.ModuleDict({"table": nn.Embedding(7, 4), "inner": nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 2))})

    small = whole()
    small["table"] = LowRankEmbedding(7, 4, 2)
    small["inner"][0] = LowRankLinear(4, 6, 1, bias=True)
    again = whole()
    restore_network(again, network_arrays(small))
    assert isinstance(again["table"], LowRankEmbedding)
    assert again["inner"][0].rank == 1
    for name, value in small.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], value, rtol=0, atol=0)
    arrays = network_arrays(small) | {"network.inner.0.1.weight": np.zeros((6, 2), np.float32)}
    with pytest.raises(ValueError, match=r"array 'network.inner.0.1.weight' must have shape \(6, 1\), got \(6, 2\)"):
        restore_network(whole(), arrays)


@pytest.mark.parametrize("kernels", [((3, 1), (1, 5)), ((3, 5), (1, 1))], ids=["spatial", "channel"])
def test_split_convolutions_are_split_again(kernels):
    def whole():
        return nn.Sequential(nn.Conv2d(4, 6, (3, 5), stride=2, padding=1), nn.ReLU(), nn.Conv2d(6, 2, 1))

    small = whole()
    scheme = "channel" if kernels[1] == (1, 1) else "spatial"
    first, second = torch.randn(2, 4, *kernels[0]), torch.randn(6, 2, *kernels[1])
    small[0] = LowRankConvolution(small[0], nn.Parameter(first), nn.Parameter(second), scheme=scheme)
    again = whole()
    restore_network(again, network_arrays(small))
    assert isinstance(again[0], LowRankConvolution)
    images = torch.randn(2, 4, 9, 9)
    assert torch.equal(again(images), small(images))
    arrays = network_arrays(small) | {"network.0.1.weight": np.zeros((6, 3, *kernels[1]), np.float32)}
    with pytest.raises(ValueError, match=r"array 'network.0.1.weight' must have shape \(6, 2, 1, \d\), got \(6, 3"):
        restore_network(whole(), arrays)
