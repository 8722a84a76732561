"""Pruning within budgets."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.lowrank import (
    Budget,
    SearchSettings,
    attempts,
    channel_pricing,
    load_compressed,
    prune,
    save_compressed,
)
from gossamer.models.lowrank.counting import count_bytes, count_macs, count_params
from gossamer.models.lowrank.pruning import PRUNING_ALLOCATORS
from gossamer.networks.resnet import ResNet

SEARCH = SearchSettings(iterations=3, polish=2, roundings=2, score_batches=2)


def batches(count: int = 4, rows: int = 4) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    return [
        (torch.randn(rows, 3, 8, 8, generator=generator), torch.randint(10, (rows,), generator=generator))
        for _ in range(count)
    ]


def network() -> ResNet:
    torch.manual_seed(0)
    return ResNet(8).eval()


@pytest.mark.parametrize("allocator", PRUNING_ALLOCATORS)
@pytest.mark.parametrize("share", [0.7, 0.3])
def test_budgets_are_met_and_the_model_is_left_alone(allocator: str, share: float):
    model, data = network(), batches()
    before = copy.deepcopy(model.state_dict())
    budget = Budget(macs=share, params=share, bytes=share)
    small = prune(model, data=data, budget=budget, loss=functional.cross_entropy, allocator=allocator, search=SEARCH)
    example = ((data[0][0],), None)
    counts = {"macs": count_macs(small, example) / 4, "params": count_params(small), "bytes": count_bytes(small)}
    report = small.compression_report
    for name, value in counts.items():
        assert value == report.after[name] <= share * report.before[name]
    assert report.scheme == "prune"
    assert all(1 <= (layer.rank or layer.full_rank) <= layer.full_rank for layer in report.layers)
    assert {type(module) for module in small.modules()} == {type(module) for module in model.modules()}
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_all_that_is_open_by_shares_of_itself():
    model = network()
    small = prune(model, data=batches(), budget=Budget(params=0.5, of="layers"), allocator="uniform", only=["layer3.*"])
    assert [layer.names[0] for layer in small.compression_report.layers] == ["layer3.0.conv1"]
    assert 0.4 < small.compression_report.layers_share("params") <= 0.5


@pytest.mark.parametrize("allocator", ["cobla", "pos_cvx", "pos_greedy"])
@pytest.mark.parametrize("fitted", [True, False])
def test_channels_that_do_nothing_go_first(allocator: str, fitted: bool):
    model, data = network(), batches()
    for block in (model.layer1[0], model.layer2[0], model.layer3[0]):
        block.conv2.weight.data[:, torch.arange(0, block.conv2.in_channels, 2)] = 0
    small = prune(
        model,
        data=data,
        budget=Budget(params=0.5, of="layers"),
        loss=functional.cross_entropy,
        allocator=allocator,
        fitted=fitted,
        recalibrate=False,
        search=SearchSettings(iterations=2, polish=0, roundings=1),
    )
    with torch.no_grad():
        if allocator == "cobla":  # it may find that the loss falls without others, too
            losses = [[functional.cross_entropy(one(x), y) for x, y in data] for one in (small, model)]
            assert sum(losses[0]) <= sum(losses[1]) + 1e-4
            return
        assert small.layer1[0].conv1.weight.shape[0] == 8
        torch.testing.assert_close(small(data[0][0]), model(data[0][0]), rtol=1e-3, atol=1e-4)


def test_saved_and_brought_back(tmp_path):
    model, data = network(), batches()
    small = prune(model, data=data, budget=Budget(macs=0.5), allocator="pos_cvx")
    save_compressed(small, tmp_path / "small")
    again = load_compressed(network(), tmp_path / "small").eval()
    with torch.no_grad():
        assert torch.equal(again(data[0][0]), small(data[0][0]))


@pytest.fixture
def counted_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that counts multiply-adds: all of a network's, and those of convolutions as if they had no stride."""

    def time_networks(models, example, repeats=1):
        return [count_macs(model, example) / 1000 for model in models]

    def time_channels(group, inputs, widths):
        images, between = inputs[group.first], inputs[group.second]
        before, after = group.first.weight[0].numel(), group.second.weight[:, 0].numel()
        each = before * images[:, 0].numel() + after * between[:, 0].numel()
        return np.array([group.num_channels, *widths]) * each / 1000

    monkeypatch.setattr(attempts, "time_models", time_networks)
    monkeypatch.setattr(channel_pricing, "time_widths", time_channels)


@pytest.mark.usefixtures("counted_clock")
@pytest.mark.parametrize("allocator", PRUNING_ALLOCATORS)
@pytest.mark.parametrize("fold", [True, False])
def test_a_budget_of_time_is_met(allocator: str, fold: bool):
    model, data = network(), batches()
    small = prune(model, data=data, budget=Budget(milliseconds=0.8), allocator=allocator, search=SEARCH, fold=fold)
    report = small.compression_report
    assert 0.4 < report.share("milliseconds") <= 0.8
    assert report.after["milliseconds"] == report.after["macs"] * 4 / 1000
    assert all(layer.rank is None or layer.rank % 8 == 0 for layer in report.layers)  # what was timed


@pytest.mark.usefixtures("counted_clock")
def test_time_and_numbers_together():
    budget = Budget(milliseconds=0.8, params=0.6)
    report = prune(network(), data=batches(), budget=budget, allocator="pos_cvx").compression_report
    assert report.share("milliseconds") <= 0.8
    assert report.share("params") <= 0.6


def test_real_time_of_which_there_is_enough():
    model, data = network(), batches()
    small = prune(model, data=data, budget=Budget(milliseconds=1e6), allocator="pos_cvx", fold=True)
    assert small.compression_report.after["milliseconds"] > 0
    assert all(layer.rank is None for layer in small.compression_report.layers)
    with torch.no_grad():
        torch.testing.assert_close(small(data[0][0]), model(data[0][0]), rtol=1e-3, atol=1e-4)


def test_mistakes_are_named():
    model, data = network(), batches()
    with pytest.raises(ValueError, match="budget milliseconds must be at least"):
        prune(model, data=data, budget=Budget(milliseconds=1e-6), allocator="uniform")
    with pytest.raises(ValueError, match=r"allocator must be one of 'cobla', 'pos_cvx', .*, got 'vbmf'"):
        prune(model, data=data, budget=Budget(macs=0.5), allocator="vbmf")
    with pytest.raises(ValueError, match="model must have two convolutions with channels that nothing else sees"):
        prune(nn.Linear(8, 2), data=[(torch.zeros(2, 8), None)], budget=Budget(macs=0.5), allocator="uniform")
    with pytest.raises(ValueError, match="budget params must be at least"):
        prune(model, data=data, budget=Budget(params=0.01), allocator="uniform")
    with pytest.raises(ValueError, match="loss must be a function of"):
        prune(model, data=data, budget=Budget(params=0.5), loss="mse")
