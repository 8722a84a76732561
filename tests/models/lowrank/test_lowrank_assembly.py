"""Networks put together from triplets: full rank is the network itself, lower ranks are the masked weights."""

from __future__ import annotations

import copy

import pytest
import torch
from small_networks import SmallCNN, SmallLanguageModel, encoder, image_batches, token_batches
from torch import nn

from gossamer.models.lowrank.assembly import roll_up_, split_like_, split_sites_, unroll_
from gossamer.models.lowrank.factors import factorise
from gossamer.models.lowrank.sites import find_sites

CASES = {
    "cnn": (SmallCNN, lambda: image_batches()[0][0]),
    "language-model": (SmallLanguageModel, lambda: token_batches()[0][0]),
    "encoder": (encoder, lambda: torch.randn(2, 3, 8)),
    "one-layer": (lambda: nn.Sequential(nn.Linear(4, 3)), lambda: torch.randn(2, 4)),
}


@pytest.mark.parametrize("scheme", ["spatial", "channel"])
@pytest.mark.parametrize("case", CASES)
def test_split_networks_compute_the_masked_weights(case, scheme):
    make, inputs = CASES[case]
    model, batch = make().eval(), inputs()
    unroll_(model, set())
    sites = find_sites(model, scheme=scheme)
    factors = [factorise(site.to_matrix(site.weight)) for site in sites]
    for share in (1.0, 0.5):
        ranks = [max(1, int(share * factor.rank)) for factor in factors]
        masked = copy.deepcopy(model)
        for site, factor, rank in zip(find_sites(masked, scheme=scheme), factors, ranks, strict=True):
            masks = (torch.arange(factor.rank) < rank).float()
            site.weight.data = site.from_matrix(factor.product(masks))
        split = copy.deepcopy(model)
        chosen = {
            site: factor.select(torch.arange(rank), torch.ones(factor.rank))
            for site, factor, rank in zip(find_sites(split, scheme=scheme), factors, ranks, strict=True)
        }
        split_sites_(split, chosen)
        torch.testing.assert_close(split(batch), masked(batch), atol=2e-5, rtol=1e-4)


def test_untouched_recurrent_networks_get_their_kernels_back():
    model = nn.Sequential(nn.LSTM(3, 3))
    originals = unroll_(model, set())
    assert not isinstance(model[0], nn.LSTM)
    roll_up_(model, originals)
    assert isinstance(model[0], nn.LSTM)


def test_a_network_split_alike_takes_the_state():
    model = SmallCNN()
    split = split_like_(copy.deepcopy(model), {"first": 2, "head": 3}, scheme="spatial")
    again = split_like_(SmallCNN(), {"first": 2, "head": 3}, scheme="spatial")
    again.load_state_dict(split.state_dict())
    assert split.first[0].weight.shape == (2, 3, 3, 1)
    with pytest.raises(ValueError, match="ranks must name layers of the network, got 'tail'"):
        split_like_(SmallCNN(), {"tail": 2}, scheme="spatial")
    with pytest.raises(ValueError, match="rank of head must be an integer >= 1 and <= 5, got 9"):
        split_like_(SmallCNN(), {"head": 9}, scheme="spatial")
