import copy
import gc
import weakref

import pytest
import torch
from refinement_problems import HIDDEN, decoder_of
from torch.autograd.functional import jacobian

from gossamer.models.counts import shared_curvature as module
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.shared_curvature import compute_curvature, shared_curvature


def entering(decoder, z):
    """Return what enters the activations of the last hidden layer."""
    for layer in decoder.layers[:-1]:
        z = decoder.activation(layer(z))
    return decoder.layers[-1](z)


@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_the_average_fisher_information_by_brute_force(hidden_dims, monkeypatch):
    monkeypatch.setattr(module, "LINEAR_DRAWS", 5)
    monkeypatch.setattr(module, "HIDDEN_DRAWS", 5)
    decoder = decoder_of(hidden_dims)
    draws = module._prior_draws(5, decoder)
    probs = torch.softmax(decoder.logits(draws), dim=1).detach()
    weight = decoder.weight.detach()
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for z, p in zip(draws, probs, strict=True):
        along = weight @ jacobian(decoder.hidden, z)
        expected += along.T @ (torch.diag(p) - torch.outer(p, p)) @ along / len(draws)
    found = compute_curvature(decoder)
    rebuilt = found.eigenvectors @ torch.diag(found.eigenvalues) @ found.eigenvectors.T
    torch.testing.assert_close(rebuilt, expected)
    torch.testing.assert_close(found.diagonal, expected.diagonal())
    torch.testing.assert_close(found.centre, probs.mean(dim=0) @ weight)
    for number, sensitivity in enumerate(found.sensitivities):
        part = Decoder(1, 3, hidden_dims[: number + 1], activation="tanh").double()
        part.load_state_dict(decoder.state_dict() | {"weight": part.weight, "bias": part.bias}, strict=False)
        into = [jacobian(lambda z, part=part: entering(part, z), z) for z in draws]
        torch.testing.assert_close(sensitivity, torch.stack(into).square().mean(dim=0).T)
    gradient, lengths = torch.randn(4, 3).double(), torch.tensor([[0.0], [1.0], [7.5], [1000.0]]).double()
    for row in range(4):
        precision = torch.eye(3, dtype=torch.float64) + lengths[row] * expected
        solved = torch.linalg.solve(precision, gradient[row])
        torch.testing.assert_close(found.precondition(gradient, lengths)[row], solved)
        torch.testing.assert_close(found.variance(lengths)[row], 1 / precision.diagonal())


def test_computed_once_per_state_of_a_decoder():
    decoder = decoder_of()
    first = shared_curvature(decoder)
    assert shared_curvature(decoder) is first
    optimiser = torch.optim.Adam(decoder.parameters(), fused=True)
    decoder.logits(torch.ones(1, 3, dtype=torch.float64)).square().sum().backward()
    optimiser.step()
    second = shared_curvature(decoder)
    assert second is not first
    assert not torch.equal(second.diagonal, first.diagonal)
    decoder.load_state_dict(decoder_of(seed=1).state_dict())
    torch.testing.assert_close(shared_curvature(decoder).diagonal, compute_curvature(decoder_of(seed=1)).diagonal)


def test_a_copy_has_its_own_and_a_forgotten_decoder_keeps_no_memory():
    decoder = decoder_of()
    shared_curvature(decoder)
    twin = copy.deepcopy(decoder)
    assert shared_curvature(twin) is not shared_curvature(decoder)
    seen = weakref.ref(twin)
    del twin
    gc.collect()
    assert seen() is None
    assert decoder in module._known


def test_the_same_in_every_process_and_without_touching_the_global_generator():
    before = torch.get_rng_state()
    assert torch.equal(compute_curvature(decoder_of()).eigenvalues, compute_curvature(decoder_of()).eigenvalues)
    decoder = decoder_of()
    state = torch.get_rng_state()
    compute_curvature(decoder)
    assert torch.equal(torch.get_rng_state(), state)
    torch.set_rng_state(before)
