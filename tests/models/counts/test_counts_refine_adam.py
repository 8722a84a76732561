import pytest
import torch
from refinement_problems import HIDDEN, decoder_of, documents, estimated_bound, log_likelihood, some_start, whole_block

from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refine_adam import bound_and_gradient, climb_by_adam


def climb(decoder, batch, start, num_steps=100, learning_rate=8e-3, tolerance=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        return climb_by_adam(
            decoder, whole_block(decoder, batch), start, num_steps, learning_rate, tolerance, generator
        )


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus"])
@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_gradient_is_autograds(hidden_dims, activation):
    decoder, batch = decoder_of(hidden_dims, activation=activation), documents(empty=(1,))
    start = some_start(batch, decoder)
    values = torch.stack([start.mean, start.log_variance]).requires_grad_()
    noise = torch.randn(len(batch), 3, dtype=torch.float64)
    posterior = Posterior(values[0], values[1])
    expected = log_likelihood(decoder, batch, posterior.at(noise)) - posterior.kl()
    (gradient,) = torch.autograd.grad(expected.sum(), values)
    block = whole_block(decoder, batch)
    with torch.no_grad():
        bounds, found = bound_and_gradient(decoder, block, values.detach(), noise, block.logits_space())
    torch.testing.assert_close(bounds, expected.detach())
    torch.testing.assert_close(found, gradient)


@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_steps_are_those_of_torchs_adam_with_the_papers_betas(hidden_dims):
    decoder, batch = decoder_of(hidden_dims), documents()
    start = some_start(batch, decoder)
    leaves = [start.mean.clone().requires_grad_(), start.log_variance.clone().requires_grad_()]
    optimiser = torch.optim.Adam(leaves, lr=0.02, betas=(0.1, 0.999))
    generator = torch.Generator().manual_seed(0)
    for _ in range(7):
        noise = torch.randn(start.mean.shape, generator=generator, dtype=torch.float64)
        posterior = Posterior(*leaves)
        loss = -(log_likelihood(decoder, batch, posterior.at(noise)) - posterior.kl()).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = climb(decoder, batch, start, num_steps=7, learning_rate=0.02)
    torch.testing.assert_close(found.mean, leaves[0].detach())
    torch.testing.assert_close(found.log_variance, leaves[1].detach())


@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_the_bound_rises(hidden_dims):
    decoder, batch = decoder_of(hidden_dims), documents(20)
    start = some_start(batch, decoder)
    gain = estimated_bound(decoder, batch, climb(decoder, batch, start)) - estimated_bound(decoder, batch, start)
    assert bool((gain > 0).all())


def test_rows_that_have_converged_leave_and_the_others_do_not_notice():
    decoder, batch = decoder_of(), documents(6, empty=(2, 3))
    start = some_start(batch, decoder)
    start.mean[2:4], start.log_variance[2:4] = 0, 0  # at their optimum already
    all_steps, few_steps = climb(decoder, batch, start, 60), climb(decoder, batch, start, 60, tolerance=1e9)
    # Nothing rises by 1e9 nats: three windows after the first, every row is out.
    assert torch.equal(few_steps.mean, climb(decoder, batch, start, 40).mean)
    with_tolerance = climb(decoder, batch, start, 60, tolerance=1e-9)
    stayed = (with_tolerance.mean == all_steps.mean).all(dim=1)
    assert stayed.tolist().count(True) >= 1


def test_same_seed_same_answer():
    decoder, batch = decoder_of((6, 7)), documents()
    start = some_start(batch, decoder)
    first, second, other = (climb(decoder, batch, start, 5, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.mean, second.mean)
    assert torch.equal(first.log_variance, second.log_variance)
    assert not torch.equal(first.mean, other.mean)


def test_start_is_left_as_it_was():
    decoder, batch = decoder_of(), documents()
    start = some_start(batch, decoder)
    mean = start.mean.clone()
    climb(decoder, batch, start, 3)
    assert torch.equal(start.mean, mean)
