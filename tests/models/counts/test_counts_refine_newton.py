import numpy as np
import pytest
import torch
from refinement_problems import decoder_of, dense_counts, documents, estimated_bound, some_start, whole_block
from scipy.optimize import minimize

from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refine_newton import LinearClimb, climb_by_newton
from gossamer.models.counts.shared_curvature import shared_curvature


def climb(decoder, batch, start, num_steps=3, tolerance=None):
    with torch.no_grad():
        return climb_by_newton(decoder, whole_block(decoder, batch), start, num_steps, tolerance)


def tilted_bound(decoder, counts, mean, variance, tilt):
    """Return the module's bound below the bound, of one document, as the formula has it."""
    weight, bias = decoder.weight.detach(), decoder.bias.detach()
    logits = weight @ mean + bias
    spread = ((weight - tilt).square() * variance).sum(dim=1) / 2
    kl = (mean.square() + variance - variance.log() - 1).sum() / 2
    return counts @ logits - counts.sum() * torch.logsumexp(logits + spread, 0) - kl


def optimum(decoder, counts, num_latent=3):
    """Return the largest tilted bound of one document over mean, variances and tilt, by scipy, and where it is."""

    def loss(values):
        leaf = torch.tensor(values, requires_grad=True)
        mean, log_variance, tilt = leaf.chunk(3)
        value = -tilted_bound(decoder, counts, mean, log_variance.exp(), tilt)
        (gradient,) = torch.autograd.grad(value, leaf)
        return value.item(), gradient.numpy()

    best = minimize(loss, np.zeros(3 * num_latent), jac=True, method="BFGS", options={"gtol": 1e-9})
    mean, log_variance, tilt = torch.from_numpy(best.x).chunk(3)
    return -best.fun, mean, log_variance, tilt


def test_reaches_the_optimum_that_scipy_finds():
    decoder, batch = decoder_of(), documents()
    found = climb(decoder, batch, some_start(batch, decoder), num_steps=40)
    for row, counts in enumerate(dense_counts(batch)):
        value, mean, log_variance, tilt = optimum(decoder, counts)
        reached = tilted_bound(decoder, counts, found.mean[row], found.log_variance[row].exp(), tilt)
        assert reached.item() == pytest.approx(value, abs=0.02)
        torch.testing.assert_close(found.mean[row], mean, atol=0.05, rtol=0)
        torch.testing.assert_close(found.log_variance[row], log_variance, atol=0.05, rtol=0)


def test_the_mean_is_the_optimum_of_the_plug_in_objective_when_variances_vanish():
    """With so many words that the posterior is a point, expected and plug-in log-likelihood are the same."""
    decoder, batch = decoder_of(), documents()
    many = type(batch)(batch.offsets, batch.terms, batch.counts * 1e4, batch.inputs, batch.rows, batch.num_terms)
    found = climb(decoder, many, some_start(batch, decoder), num_steps=60)
    for row, counts in enumerate(dense_counts(many)):

        def loss(values, counts=counts):
            mean = torch.tensor(values, requires_grad=True)
            value = (
                -(counts * torch.log_softmax(decoder.weight @ mean + decoder.bias, 0)).sum() + mean.square().sum() / 2
            )
            (gradient,) = torch.autograd.grad(value, mean)
            return value.item(), gradient.numpy()

        best = minimize(loss, np.zeros(3), jac=True, method="BFGS")
        np.testing.assert_allclose(found.mean[row].numpy(), best.x, atol=2e-3)


def test_what_is_climbed_is_a_lower_bound_on_the_bound_and_close_to_it():
    decoder, batch = decoder_of(), documents()
    found = climb(decoder, batch, some_start(batch, decoder), num_steps=10)
    expected = estimated_bound(decoder, batch, found, draws=20_000)
    for row, counts in enumerate(dense_counts(batch)):
        probs = torch.softmax(decoder.logits(found.mean[row : row + 1]), dim=1)[0].detach()
        tilt = probs @ decoder.weight.detach()
        below = tilted_bound(decoder, counts, found.mean[row], found.log_variance[row].exp(), tilt)
        assert expected[row] - 0.5 < below < expected[row] + 0.02


@pytest.mark.parametrize("num_steps", [1, 2, 3, 6])
def test_the_bound_is_never_worse_than_at_the_start(num_steps):
    decoder, batch = decoder_of(), documents(30)
    for seed in range(3):
        start = some_start(batch, decoder, seed)
        before = estimated_bound(decoder, batch, start)
        after = estimated_bound(decoder, batch, climb(decoder, batch, start, num_steps))
        assert bool((after >= before - 1e-3).all())


def test_more_steps_bring_more():
    decoder, batch = decoder_of(), documents(30)
    start = some_start(batch, decoder)
    totals = [estimated_bound(decoder, batch, climb(decoder, batch, start, steps)).sum() for steps in (1, 2, 4, 12)]
    assert totals[0] < totals[1] < totals[2] < totals[3] + 0.01


def test_every_step_raises_the_objective():
    decoder, batch = decoder_of(), documents(30)
    wild = Posterior(8 * torch.randn(30, 3).double(), torch.zeros(30, 3).double())
    with torch.no_grad():
        state = LinearClimb.begin(whole_block(decoder, batch), wild.mean, shared_curvature(decoder))
        for number in range(1, 9):
            assert bool((state.step(number) >= -1e-9).all())


@pytest.mark.parametrize("counts", [(3, 1), (0, 2), (40, 25), (1, 0)])
def test_two_terms_and_one_latent_variable_by_quadrature(counts):
    """V = 2, K = 1: the best normal posterior by brute force over a grid, its bound by Gauss–Hermite quadrature."""
    decoder, batch = decoder_of(num_terms=2, latent_dim=1, seed=3), documents(1, 2)
    values = torch.tensor([count for count in counts if count], dtype=torch.float32)
    terms = torch.tensor([term for term, count in enumerate(counts) if count])
    offsets = torch.tensor([0, len(terms)])
    batch = type(batch)(offsets, terms, values, values, torch.zeros(1, dtype=torch.int64), 2)
    nodes, weights = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(40))
    weights = weights / weights.sum()

    def exact(mean, log_variance):
        z = mean.unsqueeze(-1) + nodes * (log_variance / 2).exp().unsqueeze(-1)
        log_probs = torch.log_softmax(decoder.logits(z.unsqueeze(-1)), dim=-1).detach()
        likelihood = (log_probs * torch.tensor(counts, dtype=torch.float64)).sum(dim=-1) @ weights
        return likelihood - (mean.square() + log_variance.exp() - log_variance - 1) / 2

    grid = torch.meshgrid(torch.linspace(-4, 4, 161).double(), torch.linspace(-4, 0.5, 91).double(), indexing="ij")
    best = exact(*grid).max().item()
    start = Posterior(torch.full((1, 1), 0.7).double(), torch.zeros(1, 1).double())
    found = climb(decoder, batch, climb(decoder, batch, start, 10), 10)
    assert exact(found.mean[:, 0], found.log_variance[:, 0]).item() == pytest.approx(best, abs=0.02)


def test_rows_that_have_converged_leave_without_changing_the_others():
    decoder, batch = decoder_of(), documents(12)
    start = some_start(batch, decoder)
    done = climb(decoder, batch, start, 60)
    mixed = Posterior(start.mean.clone(), start.log_variance)
    mixed.mean[::2] = done.mean[::2]
    patient, hasty = climb(decoder, batch, mixed, 6), climb(decoder, batch, mixed, 6, tolerance=0.05)
    bounds = estimated_bound(decoder, batch, hasty)
    assert bool((bounds >= estimated_bound(decoder, batch, patient) - 0.2).all())
    nowhere = climb(decoder, batch, start, 6, tolerance=1e9)
    torch.testing.assert_close(nowhere.mean, climb(decoder, batch, start, 3).mean)


def test_deterministic_and_in_single_precision_near_double():
    decoder, batch = decoder_of(), documents(10)
    start = some_start(batch, decoder)
    first = climb(decoder, batch, start)
    assert torch.equal(first.mean, climb(decoder, batch, start).mean)
    single = climb(decoder.float(), batch, Posterior(start.mean.float(), start.log_variance.float()))
    torch.testing.assert_close(single.mean.double(), first.mean, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(single.log_variance.double(), first.log_variance, atol=1e-3, rtol=1e-3)
