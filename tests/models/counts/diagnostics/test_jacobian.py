"""The closed-form Jacobian and its spectra against autograd and dense singular values, in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from gossamer.core.randomness import torch_generator
from gossamer.models.counts.diagnostics.jacobian import SLOPES, jacobian_spectrum, log_prob_jacobian, singular_values
from gossamer.models.counts.module import ACTIVATIONS, Decoder

NETWORKS = [((), "relu"), ((7,), "tanh"), ((7, 5), "relu"), ((6, 9), "softplus"), ((4, 5, 6), "tanh")]


def make_decoder(hidden_dims=(), activation="relu", num_terms=11, latent_dim=4) -> Decoder:
    # A wide start, so that softmax and kinks matter.
    return Decoder(num_terms, latent_dim, hidden_dims, activation=activation, init_range=0.9).double()


def by_autograd(decoder: Decoder, z: Tensor) -> Tensor:
    return torch.autograd.functional.jacobian(lambda at: decoder.logits(at.unsqueeze(0)).log_softmax(1)[0], z)


@pytest.mark.parametrize(("hidden_dims", "activation"), NETWORKS)
def test_the_chain_rule_agrees_with_autograd(hidden_dims, activation):
    decoder = make_decoder(hidden_dims, activation)
    for z in (torch.zeros(4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)):
        found = log_prob_jacobian(decoder, z)
        torch.testing.assert_close(found, by_autograd(decoder, z), rtol=1e-10, atol=1e-12)
        assert not found.requires_grad
    torch.testing.assert_close(
        log_prob_jacobian(decoder), log_prob_jacobian(decoder, torch.zeros(4, dtype=torch.float64))
    )


def test_every_activation_has_its_slope():
    assert set(SLOPES) == set(ACTIVATIONS.values())


@pytest.mark.parametrize(("hidden_dims", "activation"), NETWORKS)
def test_spectra_agree_with_jacobians_written_out(hidden_dims, activation):
    decoder = make_decoder(hidden_dims, activation)
    spectrum = jacobian_spectrum(decoder, num_draws=30, random_state=3)
    draws = torch.randn(30, 4, generator=torch_generator(3), dtype=torch.float64)
    jacobians = torch.stack([by_autograd(decoder, z) for z in draws]).numpy()

    def dense(jacobian: np.ndarray) -> np.ndarray:
        return np.linalg.svd(jacobian, compute_uv=False)

    at_zero = by_autograd(decoder, torch.zeros(4, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(spectrum.at_zero, dense(at_zero), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(spectrum.of_mean, dense(jacobians.mean(axis=0)), rtol=1e-9, atol=1e-12)
    # Roots of eigenvalues have half the digits.
    each = np.mean([dense(jacobian) for jacobian in jacobians], axis=0)
    np.testing.assert_allclose(spectrum.mean_of_draws, each, rtol=1e-7, atol=1e-7)
    assert spectrum.num_draws == 30


def test_single_precision_gives_the_same_numbers_nearly():
    decoder = make_decoder((6,), "tanh")
    exact = jacobian_spectrum(decoder, num_draws=5)
    rounded = jacobian_spectrum(decoder.float(), num_draws=5)
    for name in ("at_zero", "of_mean", "mean_of_draws"):
        assert getattr(rounded, name).dtype == np.float64
        np.testing.assert_allclose(getattr(rounded, name), getattr(exact, name), rtol=1e-4, atol=1e-4)


def test_what_softmax_does_not_see_changes_nothing():
    decoder = make_decoder()
    before = jacobian_spectrum(decoder, num_draws=4)
    with torch.no_grad():
        decoder.weight += torch.randn(4, dtype=torch.float64)  # the same vector for every term
        decoder.bias += 3
    after = jacobian_spectrum(decoder, num_draws=4)
    np.testing.assert_allclose(after.at_zero, before.at_zero, rtol=1e-9)
    np.testing.assert_allclose(after.of_mean, before.of_mean, rtol=1e-9)


def test_rotating_the_latent_space_of_a_linear_decoder_changes_no_singular_value():
    decoder = make_decoder()
    before = jacobian_spectrum(decoder, num_draws=1).at_zero
    with torch.no_grad():
        decoder.weight.copy_(decoder.weight @ torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64)).Q)
    np.testing.assert_allclose(jacobian_spectrum(decoder, num_draws=1).at_zero, before, rtol=1e-9)


def test_a_pruned_direction_has_no_singular_value():
    decoder = make_decoder()
    with torch.no_grad():
        decoder.weight[:, 2] = 0
    spectrum = jacobian_spectrum(decoder, num_draws=3)
    assert spectrum.at_zero[-1] < 1e-12 < spectrum.at_zero[-2]
    assert spectrum.mean_of_draws[-1] < 1e-6


def test_fewer_terms_than_latent_variables_leave_zeros():
    decoder = make_decoder(num_terms=3, latent_dim=5)
    spectrum = jacobian_spectrum(decoder, num_draws=2)
    assert len(spectrum.at_zero) == len(spectrum.of_mean) == len(spectrum.mean_of_draws) == 5
    assert (spectrum.at_zero[3:] == 0).all()
    np.testing.assert_array_equal(singular_values(torch.ones(1, 3)), [np.sqrt(3), 0, 0])


def test_the_same_seed_draws_the_same():
    decoder = make_decoder((5,))
    first, second, other = (jacobian_spectrum(decoder, num_draws=3, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.of_mean, second.of_mean)
    assert not np.array_equal(first.of_mean, other.of_mean)


def test_mistakes_are_answered_with_a_sentence():
    decoder = make_decoder()
    with pytest.raises(ValueError, match=r"z must have the shape \(4,\), got \(1, 4\)"):
        log_prob_jacobian(decoder, torch.zeros(1, 4))
    with pytest.raises(ValueError, match="num_draws must be an integer >= 1, got 0"):
        jacobian_spectrum(decoder, num_draws=0)
    with torch.no_grad():
        decoder.weight[0, 0] = torch.nan
    with pytest.raises(ValueError, match="decoder must have finite parameters, got weight with NaN or infinity"):
        jacobian_spectrum(decoder)
