from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from gossamer.data.arrays import LabelledArrays
from gossamer.models.lowrank import Budget
from gossamer.networks.resnet import ResNet
from gossamer.runner.network_peers import TorchPruning, prune_to_budget

IMAGES = (6, 3, 16, 16)


@pytest.fixture
def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    pytest.importorskip("torch_pruning")
    generator = torch.Generator().manual_seed(0)
    return [(torch.randn(IMAGES, generator=generator), torch.randint(10, (6,), generator=generator)) for _ in range(2)]


@pytest.mark.parametrize("importance", ["taylor", "magnitude"])
def test_the_peer_meets_the_budget_and_comes_near_it(
    batches: list[tuple[torch.Tensor, torch.Tensor]], importance: str
) -> None:
    model = ResNet(8)
    before = [value.clone() for value in model.state_dict().values()]
    small = prune_to_budget(
        model,
        data=batches,
        budget=Budget(macs=0.5),
        loss=functional.cross_entropy,
        importance=importance,
        calibration_batches=2,
    )
    share = small.compression_report.share("macs")  # type: ignore[union-attr,operator]
    assert 0.4 < share <= 0.5
    assert small(batches[0][0]).shape == (6, 10)
    assert small.layer1[0].conv2.out_channels == 16  # type: ignore[index,union-attr]  # what a shortcut adds up stays
    for old, new in zip(before, model.state_dict().values(), strict=True):
        assert torch.equal(old, new)


def test_a_chain_without_shortcuts_is_pruned_everywhere_but_at_its_end(
    batches: list[tuple[torch.Tensor, torch.Tensor]],
) -> None:
    chain = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
    )
    options = {"loss": functional.cross_entropy, "importance": "magnitude", "calibration_batches": 1}
    small = prune_to_budget(chain, data=batches, budget=Budget(params=0.6), **options)  # type: ignore[arg-type]
    assert small[0].out_channels < 8  # type: ignore[index,union-attr]
    assert small[-1].out_features == 10  # type: ignore[index,union-attr]


def test_a_budget_below_one_channel_is_refused(batches: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    options = {"loss": functional.cross_entropy, "importance": "magnitude", "calibration_batches": 1}
    with pytest.raises(ValueError, match="budget must be within reach of torch-pruning"):
        prune_to_budget(ResNet(8), data=batches, budget=Budget(params=0.01), **options)  # type: ignore[arg-type]


def test_the_estimator_refuses_an_importance_that_the_peer_does_not_have() -> None:
    data = LabelledArrays(np.zeros(IMAGES, dtype=np.uint8), np.arange(6))
    with pytest.raises(ValueError, match="importance must be one of"):
        TorchPruning(importance="random", macs=0.5).fit(data)
