"""The network of figure 4.1: who decides, and what passes gradients back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_series import layers, tiny_batch, tiny_parameters, tiny_problem, tiny_series

from gossamer.models.markov.neural.network import NeuralEMNetwork, em_function


def made(batch, problem, seed: int = 0) -> NeuralEMNetwork:
    torch.manual_seed(seed)
    network = NeuralEMNetwork(problem.layout.size, 2, 8, 3, 0.0, 4.0)
    network.take_start(problem.layout.pack(tiny_parameters())[0], np.array([[0.0, 1.0], [2.0, 1.0]]))
    return network


@pytest.fixture
def scene():
    batch = tiny_batch()
    problem = tiny_problem(batch)
    return made(batch, problem), tiny_series(batch), problem, torch.randn(3, 2, dtype=torch.double)


def test_an_untrained_network_gives_the_start_and_em(scene):
    network, series, problem, features = scene
    start = problem.layout.pack(tiny_parameters(3))
    alone = network(features, series, problem, layers(num_layers=0), torch.Generator())
    torch.testing.assert_close(alone, start, rtol=1e-5, atol=1e-5)
    fused = network(features, series, problem, layers(num_layers=1, is_between=False), torch.Generator())
    torch.testing.assert_close(fused, em_function(series, problem)(alone)[0])
    last = network(features, series, problem, layers(num_layers=1, final="em"), torch.Generator())
    torch.testing.assert_close(last, fused)
    mixed = network(features, series, problem, layers(num_layers=1), torch.Generator())
    has_moved = (fused - alone).abs() > 1e-6
    between = ((mixed - alone) / (fused - alone))[has_moved]
    assert ((between > 0) & (between < 1)).all()


def test_without_observations_features_decide():
    batch = tiny_batch(num_series=1)
    problem = tiny_problem(batch)
    network = made(batch, problem)
    with torch.no_grad():
        network.direct.weight.normal_()
    empty = tiny_series(batch._replace(values=batch.values[:0], offsets=np.array([0, 0])))
    features = torch.randn(1, 2, dtype=torch.double)
    own = network(features, empty, problem, layers(num_layers=0), torch.Generator())
    torch.testing.assert_close(network(features, empty, problem, layers(), torch.Generator()), own)


@pytest.mark.parametrize("final", ["network", "em"])
def test_the_perturbed_gradient_is_close_to_the_exact_one(scene, final):
    network, series, problem, features = scene
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    found = {}
    for gradient in ("exact", "spsa"):
        network.zero_grad()
        generator = torch.Generator().manual_seed(0)
        asked = layers(gradient=gradient, final=final, perturbations=60)
        vectors = network(features, series, problem, asked, generator)
        vectors.square().sum().backward()
        found[gradient] = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
    cosine = torch.nn.functional.cosine_similarity(found["exact"], found["spsa"], dim=0)
    assert cosine > 0.8


def test_a_stopped_gradient_does_not_pass_em(scene):
    network, series, problem, features = scene
    fused = network(features, series, problem, layers(gradient="stopped", is_between=False), torch.Generator())
    assert not fused.requires_grad


def test_the_exact_gradient_is_that_of_the_network(scene):
    network, series, problem, features = scene
    network = network.double()
    weight = network.direct.weight
    asked, step = layers(), torch.zeros_like(weight)
    step[3, 1] = 1e-6

    def value(moved: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            weight.add_(moved)
            found = network(features, series, problem, asked, torch.Generator()).square().sum()
            weight.sub_(moved)
        return found

    network(features, series, problem, asked, torch.Generator()).square().sum().backward()
    slope = (value(step) - value(-step)) / 2e-6
    torch.testing.assert_close(weight.grad[3, 1], slope, rtol=1e-3, atol=1e-4)
