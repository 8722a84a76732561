import numpy as np
import pytest
import torch
from refinement_problems import decoder_of, dense_counts, documents, estimated_bound, some_start, whole_block
from scipy.optimize import minimize

from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refine_adam import climb_by_adam
from gossamer.models.counts.refine_gauss_newton import HiddenClimb, climb_by_gauss_newton
from gossamer.models.counts.shared_curvature import shared_curvature
from gossamer.models.counts.smoothing import smooth

NETWORKS = [((7,), "relu"), ((7,), "tanh"), ((6, 7), "relu"), ((6, 7), "softplus")]


def mild(hidden_dims, activation, **shape):
    """Return a decoder whose curvature changes with z, but not beyond recognition."""
    decoder = decoder_of(hidden_dims, activation=activation, **shape)
    with torch.no_grad():
        for layer in decoder.layers:
            layer.weight.mul_(0.6)
            layer.bias.mul_(0.6)
    return decoder


def climb(decoder, batch, start, num_steps=6, tolerance=None):
    with torch.no_grad():
        return climb_by_gauss_newton(decoder, whole_block(decoder, batch), start, num_steps, tolerance)


def objective(decoder, counts, mean, variance):
    """Return F of the module for one document, as the formula has it."""
    curvature = shared_curvature(decoder)
    hidden = mean
    for layer, sensitivity in zip(decoder.layers, curvature.sensitivities, strict=True):
        hidden = smooth(decoder.activation, layer(hidden).detach(), variance @ sensitivity)[0]
    log_probs = torch.log_softmax(decoder.weight @ hidden + decoder.bias, dim=0).detach()
    kl = (mean.square() + variance - variance.log() - 1).sum() / 2
    return (counts @ log_probs - counts.sum() * (variance @ curvature.diagonal) / 2 - kl).item()


@pytest.mark.parametrize(("hidden_dims", "activation"), NETWORKS)
def test_the_objective_is_the_formulas_and_every_step_raises_it(hidden_dims, activation):
    decoder, batch = decoder_of(hidden_dims, activation=activation), documents(12)
    start = some_start(batch, decoder)
    with torch.no_grad():
        state = HiddenClimb.begin(decoder, whole_block(decoder, batch), start)
        for number in range(1, 6):
            for row, counts in enumerate(dense_counts(batch)):
                expected = objective(decoder, counts, state.mean[row], state.variance[row])
                assert state.value[row].item() == pytest.approx(expected)
                if number == 1:
                    at_start = objective(decoder, counts, start.mean[row], start.log_variance[row].exp())
                    assert expected >= at_start - 1e-9
            assert bool((state.step(number) >= -1e-9).all())
        before = state.value.clone()
        state.posterior()
        assert bool((state.value >= before).all())


@pytest.mark.parametrize(("hidden_dims", "activation"), NETWORKS)
def test_ends_at_an_optimum_that_scipy_cannot_improve(hidden_dims, activation):
    decoder, batch = decoder_of(hidden_dims, activation=activation), documents(3)
    with torch.no_grad():
        state = HiddenClimb.begin(decoder, whole_block(decoder, batch), some_start(batch, decoder))
        for number in range(1, 60):
            state.step(number)
    for row, counts in enumerate(dense_counts(batch)):
        variance = state.variance[row]
        best = minimize(
            lambda values, counts=counts, variance=variance: (
                -objective(decoder, counts, torch.from_numpy(values), variance)
            ),
            state.mean[row].numpy(),
            method="Nelder-Mead",
            options={"maxiter": 200},
        )
        assert -best.fun == pytest.approx(state.value[row].item(), abs=2e-3)


def test_with_very_many_words_the_optimum_is_that_of_the_plug_in_objective():
    """The posterior is a point then, and there is nothing to smooth."""
    decoder, batch = mild((7,), "tanh"), documents(3)
    many = type(batch)(batch.offsets, batch.terms, batch.counts * 1e4, batch.inputs, batch.rows, batch.num_terms)
    found = climb(decoder, many, some_start(batch, decoder), num_steps=60)
    for row, counts in enumerate(dense_counts(many)):

        def loss(values, counts=counts):
            mean = torch.tensor(values, requires_grad=True)
            log_probs = torch.log_softmax(decoder.logits(mean), dim=0)
            value = -(counts * log_probs).sum() + mean.square().sum() / 2
            (gradient,) = torch.autograd.grad(value, mean)
            return value.item() / 1e4, gradient.numpy() / 1e4

        best = minimize(loss, found.mean[row].numpy(), jac=True, method="BFGS")
        assert loss(found.mean[row].numpy())[0] == pytest.approx(best.fun, abs=1e-3)


@pytest.mark.parametrize("num_steps", [1, 2, 4, 10])
@pytest.mark.parametrize(("hidden_dims", "activation"), NETWORKS)
def test_the_bound_is_never_worse_than_at_the_start_where_the_decoder_is_mild(hidden_dims, activation, num_steps):
    decoder, batch = mild(hidden_dims, activation), documents(30)
    start = some_start(batch, decoder)
    found = climb(decoder, batch, start, num_steps)
    gain = estimated_bound(decoder, batch, found) - estimated_bound(decoder, batch, start)
    assert bool((gain > -0.01).all())
    assert gain.mean() > 0.5


@pytest.mark.parametrize(("hidden_dims", "activation"), [*NETWORKS, ((6, 7), "tanh")])
def test_in_any_decoder_the_bound_falls_by_no_more_than_the_objective_is_off(hidden_dims, activation):
    """F is not the bound: what is far away gains, what is at the optimum of the bound already may lose a little."""
    decoder, batch = decoder_of(hidden_dims, activation=activation), documents(30)
    start = some_start(batch, decoder)
    far = estimated_bound(decoder, batch, climb(decoder, batch, start)) - estimated_bound(decoder, batch, start)
    assert far.mean() > 2
    assert far.min() > -0.5
    with torch.no_grad():
        generator = torch.Generator().manual_seed(0)
        best = climb_by_adam(decoder, whole_block(decoder, batch), start, 400, 2e-2, None, generator)
    near = estimated_bound(decoder, batch, climb(decoder, batch, best)) - estimated_bound(decoder, batch, best)
    assert near.mean() > -0.4


@pytest.mark.parametrize("counts", [(3, 1), (0, 2), (40, 25)])
def test_two_terms_and_one_latent_variable_by_quadrature(counts):
    """V = 2, K = 1: the best normal posterior by brute force over a grid, its bound by Gauss–Hermite quadrature."""
    decoder, batch = mild((5,), "tanh", num_terms=2, latent_dim=1), documents(1, 2)
    values = torch.tensor([count for count in counts if count], dtype=torch.float32)
    terms = torch.tensor([term for term, count in enumerate(counts) if count])
    rows = torch.zeros(1, dtype=torch.int64)
    batch = type(batch)(torch.tensor([0, len(terms)]), terms, values, values, rows, 2)
    nodes, weights = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(40))

    def exact(mean, log_variance):
        z = mean.unsqueeze(-1) + nodes * (log_variance / 2).exp().unsqueeze(-1)
        log_probs = torch.log_softmax(decoder.logits(z.unsqueeze(-1)), dim=-1).detach()
        likelihood = (log_probs * torch.tensor(counts, dtype=torch.float64)).sum(dim=-1) @ (weights / weights.sum())
        return likelihood - (mean.square() + log_variance.exp() - log_variance - 1) / 2

    grid = torch.meshgrid(torch.linspace(-4, 4, 161).double(), torch.linspace(-4, 0.5, 91).double(), indexing="ij")
    start = Posterior(torch.full((1, 1), 0.3).double(), torch.zeros(1, 1).double())
    found = climb(decoder, batch, climb(decoder, batch, start, 10), 10)
    assert exact(found.mean[:, 0], found.log_variance[:, 0]).item() == pytest.approx(
        exact(*grid).max().item(), abs=0.05
    )


def test_rows_that_have_converged_leave_without_changing_the_others():
    decoder, batch = mild((6, 7), "relu"), documents(12)
    start = some_start(batch, decoder)
    patient, hasty = climb(decoder, batch, start, 12), climb(decoder, batch, start, 12, tolerance=0.01)
    difference = estimated_bound(decoder, batch, hasty) - estimated_bound(decoder, batch, patient)
    assert bool((difference > -0.2).all())
    nowhere = climb(decoder, batch, start, 12, tolerance=1e9)
    torch.testing.assert_close(nowhere.mean, climb(decoder, batch, start, 1).mean)


def test_deterministic_and_in_single_precision_near_double():
    decoder, batch = mild((6, 7), "relu"), documents(10)
    start = some_start(batch, decoder)
    first = climb(decoder, batch, start)
    assert torch.equal(first.mean, climb(decoder, batch, start).mean)
    single = climb(decoder.float(), batch, Posterior(start.mean.float(), start.log_variance.float()))
    torch.testing.assert_close(single.mean.double(), first.mean, atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(single.log_variance.double(), first.log_variance, atol=1e-2, rtol=1e-2)
