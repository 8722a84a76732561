"""What an error of a layer does at the end of the network."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import nn

from gossamer import Budget, compress
from gossamer.models.lowrank.factors import factorise
from gossamer.models.lowrank.output_metric import OutputMetrics
from gossamer.models.lowrank.sites import find_sites


def metric_of(model: nn.Module, inputs: torch.Tensor, name: str, scheme: str = "channel") -> torch.Tensor:
    """Return the metric of one layer, seen on the rows of `inputs` in batches of 50."""
    sites = find_sites(model, scheme=scheme)
    metrics = OutputMetrics(sites)
    metrics.see(model, [((part,), None) for part in inputs.split(50)])
    return metrics.metric(next(site for site in sites if site.name == name))["output_metric"]


def test_the_metric_of_a_linear_layer_is_what_the_next_ones_make_of_it() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3, bias=False))
    found = metric_of(model, torch.randn(20_000, 5), "0")
    later = model[1].weight.detach().double()
    assert torch.allclose(found[0], later.T @ later, rtol=0.1, atol=0.02)
    assert torch.allclose(metric_of(model, torch.randn(20_000, 5), "1")[0], torch.eye(3).double(), atol=0.05)


def test_errors_at_all_places_of_an_image_count() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, groups=2), nn.Flatten(), nn.Linear(4 * 6 * 6, 1, bias=False))
    found = metric_of(model, torch.randn(50, 2, 6, 6), "0")
    weights = model[2].weight.detach().double().reshape(2, 2, 36)
    drawn = found.diagonal(dim1=1, dim2=2).sum() / weights.square().sum()
    # One output: the gradient is the weights times one number per image, the same for all places and channels.
    assert torch.allclose(found / drawn, weights @ weights.mT, rtol=1e-4)
    assert drawn == pytest.approx(1.0, abs=0.6)


def test_an_activation_in_place_does_not_hide_the_layer() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(200, 5)
    plain = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
    in_place = nn.Sequential(plain[0], nn.ReLU(inplace=True), plain[2])
    assert torch.equal(metric_of(plain, inputs, "0"), metric_of(in_place, inputs, "0"))


def test_layers_without_gradients_and_word_tables_have_no_metric() -> None:
    model = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 3))
    unused = nn.Linear(2, 2)
    model[1].add_module("unused", unused)
    sites = find_sites(model, scheme="channel")
    metrics = OutputMetrics(sites)
    metrics.see(model, [((torch.arange(7),), None)])
    assert [bool(metrics.metric(site)) for site in sites] == [False, True, False]
    assert all(parameter.grad is None for parameter in model.parameters())


def test_gradients_are_switched_back() -> None:
    model = nn.Linear(3, 2).requires_grad_(False)
    metric_of(nn.Sequential(model), torch.randn(10, 3), "0")
    assert not model.weight.requires_grad


def test_responses_of_the_network_are_let_go() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 2))
    seen: list[weakref.ref[torch.Tensor]] = []
    model[0].register_forward_hook(lambda _module, _inputs, output: seen.append(weakref.ref(output)))
    metric_of(model, torch.randn(10, 3), "0")
    gc.collect()
    assert len(seen) == 1
    assert seen[0]() is None


def test_truncated_factors_lose_least_at_the_end_of_the_network() -> None:
    torch.manual_seed(0)
    matrix, later = torch.randn(1, 6, 8).double(), torch.randn(3, 6).double()
    inputs = torch.randn(500, 8).double() @ torch.randn(8, 8).double()
    covariance = (inputs.T @ inputs / len(inputs)).unsqueeze(0)
    outputs = inputs @ matrix[0].T @ later.T

    def error(**metric: torch.Tensor) -> float:
        factors = factorise(matrix, **metric)
        kept = factors.product(torch.tensor([1.0, 1.0, 0, 0, 0, 0]))
        return float((inputs @ kept[0].T @ later.T - outputs).square().sum(dim=1).mean())

    with_metric = error(covariance=covariance, output_metric=(later.T @ later).unsqueeze(0))
    # Two triplets of a product that ends in three outputs: what is left is its third singular value, by any factors.
    best = torch.linalg.svdvals(outputs / len(inputs) ** 0.5)[2].square()
    assert with_metric == pytest.approx(float(best), rel=0.02)
    assert error(covariance=covariance) > 2 * with_metric


def test_energies_are_errors_of_the_output_in_all_layers_alike() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6, bias=False), nn.Linear(6, 4, bias=False))
    inputs = torch.randn(4000, 6)
    hidden = model[0](inputs).detach()
    for layer, seen, name in ((model[0], inputs, "0"), (model[1], hidden, "1")):
        covariance = (seen.T @ seen / len(seen)).unsqueeze(0)
        metric = metric_of(model, inputs, name)
        factors = factorise(layer.weight.detach().unsqueeze(0), covariance=covariance, output_metric=metric)
        assert float(factors.energies().sum()) == pytest.approx(
            float(model(inputs).detach().square().sum(dim=1).mean()), rel=0.05
        )
        assert factors.is_comparable


def test_models_that_return_anything_but_numbers_are_still_compressed() -> None:
    class Labels(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(16, 16)

        def forward(self, inputs: torch.Tensor) -> dict[str, object]:
            return {"classes": self.layer(inputs).argmax(dim=1), "parts": [None, ("name",)]}

    torch.manual_seed(0)
    small = compress(Labels(), data=[torch.randn(9, 16)], budget=Budget(params=0.6), allocator="pos_cvx")
    assert small.compression_report.share("params") <= 0.6
