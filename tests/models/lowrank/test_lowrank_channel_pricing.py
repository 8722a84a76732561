"""What channels cost: counted by hand and by torch's counter, and timed as they would run."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from gossamer.models.lowrank import channel_pricing
from gossamer.models.lowrank.channel_pricing import channel_costs, price_channels, time_widths
from gossamer.models.lowrank.channels import cut_channels_, find_groups
from gossamer.models.lowrank.counting import count_costs
from gossamer.networks.resnet import ResNet

EXAMPLE = ((torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(0)),), None)


def plain() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 5, 1, stride=2))


@pytest.mark.parametrize("model", [plain(), ResNet(8)], ids=["plain", "resnet"])
def test_a_channel_costs_what_the_network_saves_without_it(model: nn.Module):
    model = model.eval()
    groups = find_groups(model, EXAMPLE)
    costs, _ = channel_costs(model, groups, EXAMPLE)
    before = count_costs(model, EXAMPLE)
    for number, cost in enumerate(costs):
        small, group = copy.deepcopy((model, groups[number]))
        kept = group.num_channels - 1
        cut_channels_(small, group, np.arange(kept), np.ones(kept))
        after = count_costs(small, EXAMPLE)
        assert {name: before[name] - after[name] for name in before} == cost


def test_costs_of_choices(monkeypatch: pytest.MonkeyPatch):
    model = plain()
    groups = find_groups(model, EXAMPLE)
    costs, inputs = channel_costs(model, groups, EXAMPLE)
    monkeypatch.setattr(channel_pricing, "time_widths", lambda group, given, widths: np.array([3.0, 2.0]))
    table = price_channels(groups[0], costs[0], ("params", "milliseconds"), inputs)
    assert table[:, 0].tolist() == [12 * 33.0] + [number * 33.0 for number in range(1, 13)]
    assert table[[0, 8, 12], 1].tolist() == [3.0, 2.0, 3.0]
    assert np.isinf(np.delete(table[:, 1], [0, 8, 12])).all()


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_what_is_timed_is_what_would_run(monkeypatch: pytest.MonkeyPatch, layout: torch.memory_format):
    model = plain()
    groups = find_groups(model, EXAMPLE)
    images = EXAMPLE[0][0].contiguous(memory_format=layout)
    _, inputs = channel_costs(model, groups, ((images,), None))
    seen = []
    monkeypatch.setattr(
        channel_pricing, "milliseconds_of", lambda actions: seen.extend(act() for act in actions) or [1]
    )
    time_widths(groups[0], inputs, [8])
    (whole, all_of_it), (narrow, rest) = seen
    assert torch.equal(whole, model[0](images))
    assert torch.equal(all_of_it, model(images))
    assert torch.allclose(narrow, whole[:, :8], atol=1e-6)
    assert rest.shape == all_of_it.shape
    assert rest.is_contiguous(memory_format=layout)


def test_times_are_positive():
    model = plain()
    groups = find_groups(model, EXAMPLE)
    _, inputs = channel_costs(model, groups, EXAMPLE)
    times = time_widths(groups[0], inputs, [4, 8])
    assert times.shape == (3,)
    assert (times > 0).all()
