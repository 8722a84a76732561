"""Posteriors with a covariance matrix, against torch's distributions, sampling and the conditions of an optimum."""

import numpy as np
import pytest
import torch
from refinement_problems import decoder_of, dense_counts, documents, estimated_bound, some_start
from torch.distributions import MultivariateNormal, kl_divergence

from gossamer.models.counts import CountVAE
from gossamer.models.counts.posterior import FullPosterior, Posterior
from gossamer.models.counts.refine_covariance import with_covariance
from gossamer.models.counts.refinement import Refinement, refine


def refined(decoder, batch, steps=30):
    start = some_start(batch, decoder)
    return refine(decoder, batch, start, Refinement(steps=steps), torch.Generator().manual_seed(0))


def covariance_of(posterior):
    return posterior.factor @ posterior.factor.transpose(1, 2)


def test_divergence_and_samples_are_those_of_torch():
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    root = torch.randn(4, 3, 3, generator=generator, dtype=torch.float64)
    covariance = root @ root.transpose(1, 2) + 0.1 * torch.eye(3)
    posterior = FullPosterior.of(mean, covariance)
    theirs = MultivariateNormal(mean, covariance)
    prior = MultivariateNormal(torch.zeros(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64))
    torch.testing.assert_close(posterior.kl(), kl_divergence(theirs, prior))
    torch.testing.assert_close(posterior.log_variance.exp(), theirs.variance)
    other = Posterior(mean.flip(0), mean / 2)
    diagonal = MultivariateNormal(other.mean, torch.diag_embed(other.log_variance.exp()))
    torch.testing.assert_close(posterior.kl_to(other), kl_divergence(theirs, diagonal))
    drawn = posterior.at(torch.randn(40_000, 4, 3, generator=generator, dtype=torch.float64))
    torch.testing.assert_close(torch.cov(drawn[:, 0].T), covariance[0], rtol=0.05, atol=0.05)


def test_a_diagonal_covariance_is_the_diagonal_posterior():
    batch, decoder = documents(), decoder_of()
    start = some_start(batch, decoder)
    same = FullPosterior.of(start.mean, torch.diag_embed(start.log_variance.exp()))
    noise = torch.randn(start.mean.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(same.kl(), start.kl())
    torch.testing.assert_close(same.at(noise), start.at(noise))


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_higher_than_with_variances_alone_and_still_below_the_evidence(seed):
    batch, decoder = documents(seed=seed), decoder_of(latent_dim=2, seed=seed)
    diagonal = refined(decoder, batch)
    full = with_covariance(decoder, batch, diagonal)
    low, high = (estimated_bound(decoder, batch, posterior, 40_000) for posterior in (diagonal, full))
    assert (high > low).all()
    assert (high <= evidence(decoder, batch) + 0.01).all()


def evidence(decoder, batch):
    """Return log ∫ p(x | z) p(z) dz over a fine grid of two latent variables."""
    axis = torch.linspace(-6, 6, 241, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis)
    log_prior = -grid.square().sum(dim=1) / 2 - np.log(2 * np.pi) + 2 * torch.log(axis[1] - axis[0])
    log_probs = torch.log_softmax(decoder.logits(grid), dim=1)
    return torch.logsumexp(dense_counts(batch) @ log_probs.T + log_prior, dim=1).detach()


def test_the_covariance_is_the_inverse_of_what_prior_and_words_know():
    batch, decoder = documents(), decoder_of()
    found = with_covariance(decoder, batch, refined(decoder, batch), steps=60)
    weight, bias = decoder.weight.detach(), decoder.bias.detach()
    shift = torch.softmax(found.mean @ weight.T + bias, dim=1) @ weight
    for _ in range(100):  # u = Wᵀp by its own fixed point
        off = weight - shift.unsqueeze(1)
        tilt = torch.einsum("bvk,bkl,bvl->bv", off, covariance_of(found), off) / 2
        probs = torch.softmax(found.mean @ weight.T + bias + tilt, dim=1)
        shift = probs @ weight
    off = weight - shift.unsqueeze(1)
    spread = torch.einsum("bv,bvk,bvl->bkl", probs, off, off)
    lengths = batch.lengths.double()
    wanted = torch.linalg.inv(torch.eye(3, dtype=torch.float64) + lengths[:, None, None] * spread)
    torch.testing.assert_close(covariance_of(found), wanted, rtol=1e-4, atol=1e-5)
    gradient = dense_counts(batch) @ weight - lengths[:, None] * shift - found.mean
    assert gradient.abs().max() < 1e-3


def test_from_a_wild_start_no_step_goes_down():
    batch, decoder = documents(num_rows=8), decoder_of()
    wild = Posterior(8 * some_start(batch, decoder).mean, torch.zeros(8, 3, dtype=torch.float64))
    bounds = [
        estimated_bound(decoder, batch, with_covariance(decoder, batch, wild, steps), 8000) for steps in (0, 3, 12)
    ]
    assert (bounds[1] > bounds[0]).all()
    assert (bounds[2] > bounds[1] - 0.05).all()


def test_blocks_of_documents_change_nothing(monkeypatch):
    batch, decoder = documents(num_rows=7), decoder_of()
    start = refined(decoder, batch)
    together = with_covariance(decoder, batch, start)
    monkeypatch.setattr("gossamer.models.counts.refine_covariance.VALUES_AT_ONCE", 3 * 12 * 3)
    apart = with_covariance(decoder, batch, start)
    torch.testing.assert_close(apart.mean, together.mean)
    torch.testing.assert_close(apart.factor, together.factor)


def test_a_document_without_words_has_the_prior():
    batch, decoder = documents(empty=(1,)), decoder_of()
    found = with_covariance(decoder, batch, some_start(batch, decoder))
    assert found.mean[1].tolist() == [0, 0, 0]
    assert torch.equal(found.factor[1], torch.eye(3, dtype=torch.float64))
    assert len(with_covariance(decoder, documents(num_rows=0), Posterior(*torch.zeros(2, 0, 3).double()))) == 0


def test_hidden_layers_are_refused():
    batch, decoder = documents(), decoder_of((7,))
    with pytest.raises(ValueError, match="covariance must be 'diagonal' below 1 hidden layers, got 'full'"):
        with_covariance(decoder, batch, some_start(batch, decoder))
    with pytest.raises(ValueError, match=r"covariance must be 'diagonal' with decoder_dims \(7,\), got 'full'"):
        CountVAE(decoder_dims=(7,), covariance="full").fit(np.eye(4, dtype=int))


def test_a_model_judges_by_the_covariance_it_is_told():
    counts = np.random.default_rng(0).poisson(1.0, (30, 12))
    model = CountVAE(latent_dim=4, encoder_dims=(8,), epochs=3, batch_size=10, covariance="full").fit(counts)
    diagonal, full = (model.perplexity(counts, covariance=kind) for kind in ("diagonal", "full"))
    assert model.evaluate(counts)["perplexity_document_refined"] == pytest.approx(full)
    assert full != diagonal
    assert model.perplexity(counts, refine=False) == model.perplexity(counts, refine=False, covariance="diagonal")
    with pytest.raises(ValueError, match="covariance must be one of 'diagonal', 'full', got 'round'"):
        model.perplexity(counts, covariance="round")
