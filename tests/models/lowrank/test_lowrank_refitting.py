"""Second factors fitted anew: least squares by brute force, errors that are made up for, and networks left alone."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.models.lowrank.small_networks import SmallCNN, SmallLanguageModel, image_batches, token_batches
from torch import Tensor, nn
from torch.nn.functional import normalize

from gossamer import Budget, compress
from gossamer.models.lowrank import refitting
from gossamer.models.lowrank.answers import choose_guide, distance_to_answers
from gossamer.models.lowrank.assembly import split_sites_
from gossamer.models.lowrank.batches import BatchSource
from gossamer.models.lowrank.counting import observe_uses
from gossamer.models.lowrank.factors import factorise
from gossamer.models.lowrank.refitting import layers_to_refit, refit_, refit_where_better_
from gossamer.models.lowrank.search import SearchSettings
from gossamer.models.lowrank.sites import find_sites

LAYERS = {
    "linear": (nn.Linear(6, 5), (7, 6)),
    "linear of sequences": (nn.Linear(6, 5, bias=False), (3, 4, 6)),
    "convolution": (nn.Conv2d(4, 6, 3, padding=1), (3, 4, 7, 6)),
    "stride, dilation, groups": (nn.Conv2d(4, 6, (3, 5), (2, 1), (1, 4), (1, 2), groups=2, bias=False), (3, 4, 9, 8)),
    "reflected": (nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), (3, 4, 6, 6)),
    "same": (nn.Conv2d(4, 6, 3, padding="same"), (3, 4, 6, 6)),
    "one axis": (nn.Conv1d(4, 6, 3, padding=2), (3, 4, 9)),
    "one image": (nn.Conv2d(4, 6, 3), (4, 9, 9)),
}


def split(model: nn.Module, batch: Tensor, ranks: int, scheme: str):
    """Return a copy of the model whose every layer keeps its first triplets, and the sites of the model."""
    sites = find_sites(model, scheme=scheme)
    calls = observe_uses(model, sites, ((batch,), None))
    small, copied = copy.deepcopy((nn.Sequential(model), sites))
    chosen = {}
    for site in copied:
        factors = factorise(site.to_matrix(site.weight))
        chosen[site] = factors.select(torch.arange(ranks), torch.ones(factors.rank))
    split_sites_(small, chosen)
    return small[0], layers_to_refit(calls, small[0])


def responses_to_single_weights(layer: nn.Sequential, inputs: Tensor) -> Tensor:
    """Return the layer's outputs, without its bias, for each weight of its second factor being 1 alone, in columns."""
    lone, weight = copy.deepcopy(layer), layer[1].weight
    lone[1].bias = None
    columns = []
    for place in range(weight.numel()):
        lone[1].weight = nn.Parameter((torch.arange(weight.numel()) == place).to(weight).view_as(weight))
        columns.append(lone(inputs).flatten())
    return torch.stack(columns, dim=1)


@pytest.mark.parametrize("scheme", ["spatial", "channel"])
@pytest.mark.parametrize("kind", LAYERS)
@torch.no_grad()
def test_it_is_the_least_squares_solution(kind, scheme, monkeypatch):
    monkeypatch.setattr(refitting, "SHRINKAGE", 1e-9)
    torch.manual_seed(0)
    layer, shape = LAYERS[kind]
    inputs = torch.randn(shape)
    small, sites = split(layer, inputs, 2, scheme)
    design = responses_to_single_weights(small, inputs)
    wanted = layer(inputs) - (layer(0 * inputs) if layer.bias is not None else 0)
    expected = torch.linalg.lstsq(design.double(), wanted.flatten().double()).solution
    refit_(small, layer, sites, [((inputs,), None)], batch_statistics=False)
    fitted = (design @ small[1].weight.flatten()).double()
    torch.testing.assert_close(fitted, design.double() @ expected, atol=1e-4, rtol=1e-3)


@torch.no_grad()
def test_a_later_layer_makes_up_for_an_earlier_one():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)).eval()
    inputs = torch.randn(200, 8)
    small, sites = split(model, inputs, 8, "channel")
    small[0][1].weight.mul_(0.5)
    refit_(small, model, sites[1:], [((inputs,), None)], batch_statistics=False)
    torch.testing.assert_close(small(inputs), model(inputs), atol=0.02, rtol=0.02)
    assert [site.name for site in sites] == ["0", "1"]


@torch.no_grad()
def test_in_front_of_a_batch_norm_means_are_of_no_account():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6, bias=False), nn.BatchNorm1d(6)).eval()
    inputs = torch.randn(300, 6)
    small, sites = split(model, inputs, 6, "channel")
    moved = copy.deepcopy(small)
    for network, shift in ((small, 0.0), (moved, 100.0)):
        refit_(network, _shifted(model, shift), sites, [((inputs,), None)], batch_statistics=True)
    torch.testing.assert_close(moved[0][1].weight, small[0][1].weight, atol=1e-3, rtol=1e-3)


def _shifted(model: nn.Sequential, shift: float) -> nn.Module:
    shifted = copy.deepcopy(model)
    shifted[0].bias = nn.Parameter(torch.full((6,), shift))
    return shifted


def test_answers_come_closer_within_the_same_budget():
    """Five layers, each of which is given the errors of all before it."""
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(24, 24), nn.ReLU()) for _ in range(5)], nn.Linear(24, 4))
    for parameter in model.parameters():
        if parameter.dim() == 2:
            nn.init.orthogonal_(parameter, gain=1.5)
    data = [torch.randn(256, 24) for _ in range(12)]
    arguments = {"data": data[:8], "budget": Budget(params=0.3), "allocator": "pos_cvx"}
    plain, fitted = (compress(model, refit=refit, **arguments) for refit in (False, None))
    assert fitted.compression_report.refitted
    assert not plain.compression_report.refitted
    assert fitted.compression_report.layers == plain.compression_report.layers
    unseen = torch.cat(data[8:])
    answers = model(unseen)
    assert distance_to_answers(fitted(unseen), answers) < 0.9 * distance_to_answers(plain(unseen), answers)


def test_plain_factors_stay_plain():
    model, data = SmallCNN(), image_batches()
    small = compress(model, data=data, budget=Budget(params=0.6), allocator="uniform", fitted=False)
    assert not small.compression_report.refitted


@pytest.mark.parametrize("scheme", ["spatial", "channel"])
def test_cobla_polishes_what_was_fitted_anew(scheme):
    torch.manual_seed(0)
    model, data = SmallCNN(), image_batches(8, 16)
    settings = SearchSettings(iterations=2, polish=4, roundings=1)
    small = compress(model, data=data, budget=Budget(macs=0.5), scheme=scheme, search=settings)
    assert small.compression_report.share("macs") <= 0.5
    assert small(data[0][0]).shape == (16, 5)


def test_recurrent_and_tied_layers_are_left_as_they_are():
    torch.manual_seed(0)
    model, data = SmallLanguageModel(), token_batches()
    arguments = {"data": data, "budget": Budget(params=0.6), "allocator": "pos_cvx"}
    plain, fitted = (compress(model, refit=refit, **arguments).state_dict() for refit in (False, True))
    # Both factors of a triplet are scaled to one length in the end: what was fitted anew has other directions.
    along = {name: 0 if name.endswith("1.weight") else -1 for name in plain}
    directions = [{name: normalize(state[name], dim=along[name]) for name in plain} for state in (plain, fitted)]
    changed = {name for name in plain if not torch.allclose(directions[0][name], directions[1][name], atol=1e-5)}
    assert changed
    assert all(name.endswith("input.1.weight") for name in changed)  # what words and layers below give, all at once


def test_a_model_without_real_answers_cannot_be_compared():
    class Chooser(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, 16)

        def forward(self, inputs):
            return self.layer(inputs).argmax(dim=1)

    data = [torch.randn(32, 16)]
    small = compress(Chooser(), data=data, budget=Budget(params=0.7), allocator="pos_cvx")
    assert not small.compression_report.refitted


@torch.no_grad()
def test_what_is_worse_on_other_batches_is_not_kept():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8)).eval()
    narrow = [torch.randn(64, 1) * torch.eye(8)[0] for _ in range(4)]
    other = [torch.randn(64, 8) for _ in range(4)]
    small, sites = split(model, other[0], 5, "channel")
    before = small[0][1].weight.clone()
    source = BatchSource([*narrow, *other], needs_targets=False)
    guide = choose_guide(None, source, model)
    kept = refit_where_better_(small, model, sites, source, guide, polish_numbers=(), batch_statistics=False)
    assert not kept
    assert torch.equal(small[0][1].weight, before)


def test_layers_that_no_pass_reaches_keep_their_factors():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6))
    small, sites = split(model, torch.randn(4, 6), 3, "channel")
    before = small[0][1].weight.clone()
    refit_(small, nn.Sequential(nn.Linear(6, 6)), sites, [], batch_statistics=False)
    assert torch.equal(small[0][1].weight, before)


def test_refit_is_true_or_false():
    with pytest.raises(ValueError, match="refit must be True or False, got 'yes'"):
        compress(nn.Linear(4, 4), data=[torch.zeros(2, 4)], budget=Budget(params=0.9), refit="yes")
