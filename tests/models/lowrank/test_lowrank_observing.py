"""Inputs seen on the way are those that layers multiply their weights with."""

from __future__ import annotations

import pytest
import torch
from small_networks import SmallCNN, SmallLanguageModel, image_batches, token_batches
from torch import nn

from gossamer.models.lowrank.counting import evaluating
from gossamer.models.lowrank.observing import InputStatistics, WatchWeights, use_of
from gossamer.models.lowrank.sites import find_sites


@pytest.mark.parametrize("scheme", ["channel", "spatial"])
def test_second_moments_give_the_energy_of_outputs(scheme):
    """tr(W C Wᵀ) is the mean square of the layer's response: exact for channels, summed over taps for spatial."""
    model = SmallCNN().double()
    sites = find_sites(model, scheme="channel")
    statistics, outputs = InputStatistics(sites), {}

    def see(call):
        statistics.see(call)
        bias = getattr(call.site.first, "bias", None)
        shape = [1, -1] + [1] * (call.output.dim() - 2)
        response = call.output if bias is None else call.output - bias.view(shape)
        channels = response.movedim(1, -1).flatten(0, -2) if response.dim() > 2 else response
        outputs[call.site.name] = channels.square().sum(dim=1).mean().item()

    images = image_batches()[0][0].double()
    with torch.no_grad(), evaluating(model), WatchWeights(sites, see):
        model(images)
    for site in sites:
        matrix, covariance = site.to_matrix(site.weight), statistics.metric(site)["covariance"]
        energy = torch.einsum("gic,gcd,gid->", matrix, covariance.to(matrix), matrix).item()
        assert energy == pytest.approx(outputs[site.name], rel=1e-4), site.name
    if scheme == "spatial":
        spatial = find_sites(model, scheme="spatial")
        again = InputStatistics(spatial)
        with torch.no_grad(), evaluating(model), WatchWeights(spatial, again.see):
            model(images)
        metric = again.metric(spatial[0])
        assert metric["covariance"].shape == (1, 9, 9)
        assert metric["row_covariance"].trace() == pytest.approx(3.0)


def test_centred_moments_do_not_know_the_mean():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 3, 3))
    sites = find_sites(model, scheme="channel")
    images = torch.randn(6, 2, 5, 5)
    found = []
    for shift in (0.0, 10.0):
        statistics = InputStatistics(sites)
        with torch.no_grad(), WatchWeights(sites, statistics.see):
            model(images + shift)
        found.append([statistics.metric(sites[0], centred=centred)["covariance"] for centred in (True, False)])
    assert torch.allclose(found[0][0], found[1][0], atol=1e-3)
    assert (found[1][1] > 50).all()


def test_looked_up_rows_are_counted():
    model = SmallLanguageModel()
    sites = find_sites(model, scheme="spatial")
    statistics = InputStatistics(sites)
    tokens = token_batches()[0][0]
    with torch.no_grad(), WatchWeights(sites, statistics.see):
        model(tokens)
    metric = statistics.metric(sites[0])
    assert torch.equal(metric["row_weights"], torch.bincount(tokens.flatten(), minlength=30).double())
    assert metric["covariance"].shape == (1, 12, 12)


def test_uses_of_a_weight_outside_of_its_module():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(7, 4)

        def forward(self, tokens):
            return nn.functional.linear(self.words(tokens), self.words.weight)

    model, calls = Tied(), []
    sites = find_sites(model, scheme="channel")
    with WatchWeights(sites, calls.append):
        model(torch.zeros(2, 3, dtype=torch.long))
    assert [use_of(call).whole_macs for call in calls] == [0, 6 * 28]
    assert [use_of(call).rank_macs for call in calls] == [6 * 4, 6 * 11]


def test_infinite_inputs_are_named():
    model = nn.Sequential(nn.Linear(2, 2))
    sites = find_sites(model, scheme="channel")
    statistics = InputStatistics(sites)
    with torch.no_grad(), WatchWeights(sites, statistics.see):
        model(torch.full((1, 2), float("inf")))
    with pytest.raises(FloatingPointError, match="inputs of 0 must be finite, got NaN or infinity"):
        statistics.metric(sites[0])
