"""Balancing: answers stay, both factors of a triplet have one length, whatever kind of layer they belong to."""

from __future__ import annotations

import pytest
import torch
from tests.models.lowrank.small_networks import SmallCNN, SmallLanguageModel, image_batches, token_batches
from torch import nn

from gossamer.models.lowrank import Budget, compress, fine_tune
from gossamer.models.lowrank.balancing import balance_
from gossamer.models.lowrank.module import LowRankConvolution, LowRankEmbedding, LowRankLinear


def _unbalanced(network: nn.Module) -> nn.Module:
    """Scale the first weights of all split layers by a thousand and the second ones back."""
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, LowRankLinear | LowRankConvolution):
                module[0].weight.mul_(1000)
                module[1].weight.div_(1000)
            elif isinstance(module, LowRankEmbedding):
                module.codes.weight.mul_(1000)
                module.expand.weight.div_(1000)
    return network


def _lengths(module: nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    if isinstance(module, LowRankEmbedding):
        return module.codes.weight.norm(dim=0), module.expand.weight.norm(dim=0)
    first, second = module[0].weight, module[1].weight
    groups = getattr(module[1], "groups", 1)
    columns = second.reshape(groups, len(second) // groups, second.shape[1], -1)
    return first.flatten(1).norm(dim=1), columns.norm(dim=(1, 3)).flatten()


CASES = {
    "spatial": (SmallCNN, image_batches),
    "channel": (SmallCNN, image_batches),
    "words": (SmallLanguageModel, token_batches),
}


@pytest.mark.parametrize("case", CASES)
def test_answers_stay_and_both_factors_of_each_triplet_have_one_length(case: str) -> None:
    torch.manual_seed(0)
    network, batches = CASES[case]
    data = [inputs for inputs, _ in batches()]
    scheme = "channel" if case == "channel" else "spatial"
    small = compress(network(), data=data, budget=Budget(params=0.6), scheme=scheme, allocator="uniform")
    split = [module for module in small.modules() if isinstance(module, LowRankLinear | LowRankConvolution)]
    split += [module for module in small.modules() if isinstance(module, LowRankEmbedding)]
    assert split
    for is_ours in (True, False):  # compress returns them balanced, and brings any others there
        if not is_ours:
            before = small(data[0])
            balance_(_unbalanced(small))
            torch.testing.assert_close(small(data[0]), before, rtol=1e-4, atol=1e-5)
        for module in split:
            first, second = _lengths(module)
            torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-6)


def test_factors_that_two_layers_share_are_scaled_once() -> None:
    torch.manual_seed(0)
    shared = nn.Linear(16, 16)
    model = nn.Sequential(shared, nn.ReLU(), nn.Linear(16, 16, bias=False))
    model[2].weight = shared.weight
    small = compress(model, data=[torch.randn(32, 16)], budget=Budget(params=0.6), allocator="uniform")
    assert small[0][0].weight is small[2][0].weight
    before = small(torch.ones(1, 16))
    balance_(_unbalanced(small[0]))
    torch.testing.assert_close(small(torch.ones(1, 16)), before, rtol=1e-4, atol=1e-5)


def test_a_triplet_of_zeros_stays_what_it_is() -> None:
    layer = LowRankLinear(3, 3, rank=2, bias=False)
    nn.init.ones_(layer[0].weight)
    nn.init.zeros_(layer[1].weight)
    balance_(layer)
    assert torch.equal(layer[0].weight, torch.ones(2, 3))
    assert torch.equal(layer[1].weight, torch.zeros(3, 2))


def test_a_layer_that_is_split_twice_keeps_its_product() -> None:
    torch.manual_seed(0)
    outer = LowRankLinear(6, 6, rank=4, bias=False)
    outer[0] = LowRankLinear(6, 4, rank=2, bias=False)
    before = outer[1].weight @ outer[0].weight
    balance_(outer)
    torch.testing.assert_close(outer[1].weight @ outer[0].weight, before)


def test_balanced_factors_are_trained_where_the_same_network_with_unequal_ones_is_not() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 4))
    data = [torch.randn(64, 24) for _ in range(4)]
    small = compress(model, data=data, budget=Budget(params=0.4), allocator="pos_cvx", refit=False)

    @torch.no_grad()
    def error(network: nn.Module) -> float:
        return float(sum(nn.functional.mse_loss(network(batch), model(batch)) for batch in data))

    tuned = error(fine_tune(small, data=data, whole=model, steps=100))
    begun = error(small)
    unequal = error(fine_tune(_unbalanced(small), data=data, whole=model, steps=100))
    assert tuned < 0.8 * begun
    assert tuned < unequal
