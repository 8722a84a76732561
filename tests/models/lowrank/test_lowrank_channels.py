"""Which channels can be cut, and that cutting is masking."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.lowrank.channels import ChannelGroup, ChannelMasks, cut_channels_, find_groups, prune_like_
from gossamer.models.lowrank.counting import count_bytes, count_params
from gossamer.networks.resnet import ResNet


def images(rows: int = 2) -> Tensor:
    return torch.randn(rows, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def seasoned(model: nn.Module) -> nn.Module:
    """Return a model whose batch norms have seen something."""
    torch.manual_seed(0)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias)
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return model.eval()


def chain(*, inplace: bool = False) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(inplace), nn.Conv2d(6, 5, 1), nn.ReLU(), nn.Conv2d(5, 4, 1)
    )


def names(model: nn.Module, **patterns: list[str]) -> list[tuple[str, ...]]:
    return [tuple(group.modules) for group in find_groups(model, ((images(),), None), **patterns)]


def test_the_inner_channels_of_residual_blocks():
    blocks = [f"layer{number}.0" for number in (1, 2, 3)]
    assert names(ResNet(8)) == [(f"{block}.conv1", f"{block}.bn1", f"{block}.conv2") for block in blocks]


@pytest.mark.parametrize("inplace", [False, True])
def test_every_second_gap_of_a_chain(inplace: bool):
    assert names(chain(inplace=inplace)) == [("0", "1", "3")]
    assert names(nn.Sequential(nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 1))) == [("0", "1")]


class Tapped(nn.Module):
    """Two convolutions with something that sees the channels between them."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.first, self.second = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 1, groups=2 if how == "groups" else 1)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        between = functional.relu(self.first(images))
        if self.how == "twice":
            return (self.second(functional.relu(self.second(between))),)
        if self.how == "returned":
            return self.second(between), between
        if self.how == "mixed":
            return (self.second(between.softmax(dim=1)),)
        after = self.second(between)
        return (after + between,) if self.how == "added" else (after,)


@pytest.mark.parametrize("how", ["twice", "returned", "mixed", "added", "groups"])
def test_channels_that_others_see_stay(how: str):
    assert names(Tapped(how)) == []
    assert names(Tapped("nothing")) == [("first", "second")]


def test_patterns():
    groups = find_groups(ResNet(8), ((images(),), None), keep=["layer1.*"], only=["layer1.*", "layer2.*"])
    assert [group.stays for group in groups] == ["kept by name", None, "not among those to cut"]
    with pytest.raises(ValueError, match="keep must match a layer, of conv1, "):
        names(ResNet(8), keep=["nothing"])


@given(st.lists(st.floats(0, 1.5), min_size=6, max_size=6), st.integers(1, 63))
@settings(max_examples=12, deadline=None)
def test_cutting_is_masking_by_zero_and_costs_are_exact(masks: list[float], chosen: int):
    model = seasoned(chain())
    (group,) = find_groups(model, ((images(),), None))
    kept = np.flatnonzero([chosen >> place & 1 for place in range(6)])
    order = np.random.default_rng(chosen).permutation(6)
    values = np.where(np.isin(np.arange(6), kept), masks, 0.0)
    masked = copy.deepcopy(model)
    masked[3].weight.data = ChannelMasks(group.weight, order).product(torch.from_numpy(values[order]))
    before = count_params(model), count_bytes(model)
    small = copy.deepcopy(model)
    (again,) = find_groups(small, ((images(),), None))
    cut_channels_(small, again, kept, values[kept])
    with torch.no_grad():
        torch.testing.assert_close(small(images()), masked(images()), rtol=1e-4, atol=1e-5)
    gone = 6 - len(kept)
    assert count_params(small) == before[0] - gone * group.channel_params()
    assert count_bytes(small) == before[1] - gone * group.channel_bytes()
    assert {type(module) for module in small} == {type(module) for module in model}


def test_gradients_of_masks_are_those_of_differences():
    model = seasoned(chain()).double()
    (group,) = find_groups(model, ((images().double(),), None))
    masks, order = torch.rand(6, dtype=torch.float64), np.random.default_rng(0).permutation(6)
    channel_masks = ChannelMasks(group.weight, order)

    def loss(values: Tensor) -> Tensor:
        weight = channel_masks.product(values)
        return torch.func.functional_call(model, {"3.weight": weight}, images().double()).square().sum()

    weight = channel_masks.product(masks).requires_grad_()
    value = torch.func.functional_call(model, {"3.weight": weight}, images().double()).square().sum()
    (gradient,) = torch.autograd.grad(value, weight)
    steps = 1e-6 * torch.eye(6, dtype=torch.float64)
    with torch.no_grad():
        expected = torch.stack([(loss(masks + step) - loss(masks - step)) / 2e-6 for step in steps])
    torch.testing.assert_close(channel_masks.mask_gradient(gradient), expected, rtol=1e-5, atol=1e-6)


def test_rebuilding_takes_the_state():
    model = seasoned(ResNet(8))
    small = copy.deepcopy(model)
    (group, *_) = find_groups(small, ((images(),), None))
    cut_channels_(small, group, np.array([1, 4, 7]), np.ones(3))
    again = prune_like_(ResNet(8), {tuple(group.modules): 3})
    again.load_state_dict(small.state_dict())
    with torch.no_grad():
        assert torch.equal(again.eval()(images()), small(images()))
    with pytest.raises(ValueError, match="widths must name layers of the network, got nothing"):
        prune_like_(model, {("nothing", "conv1"): 3})
    with pytest.raises(ValueError, match=r"width of layer1\.0\.conv1 must be from 1 to 16, got 17"):
        prune_like_(model, {tuple(group.modules): 17})


def test_groups_without_a_norm_and_with_biases():
    group = ChannelGroup({"a": nn.Conv2d(3, 4, 3), "b": nn.Conv2d(4, 2, 1)})
    assert group.norm is None
    assert group.channel_params() == 3 * 9 + 1 + 2
