import pytest
import torch
from torch.distributions import Normal, kl_divergence

from gossamer.models.counts.posterior import Posterior


def posterior_of(seed, num_rows=4, latent_dim=3):
    generator = torch.Generator().manual_seed(seed)
    mean, log_variance = torch.randn(2, num_rows, latent_dim, generator=generator, dtype=torch.float64)
    return Posterior(mean.requires_grad_(), log_variance.requires_grad_())


def normal(posterior):
    return Normal(posterior.mean, torch.exp(posterior.log_variance / 2))


def test_divergences_are_those_of_torch():
    one, other = posterior_of(0), posterior_of(1)
    standard = Normal(torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64))
    assert torch.allclose(one.kl(), kl_divergence(normal(one), standard).sum(dim=1))
    assert torch.allclose(one.kl_to(other), kl_divergence(normal(one), normal(other)).sum(dim=1))
    assert torch.allclose(one.kl_to(one), torch.zeros(4, dtype=torch.float64))


def test_the_divergence_to_the_prior_is_the_divergence_to_a_standard_normal():
    one = posterior_of(0)
    prior = Posterior(torch.zeros_like(one.mean), torch.zeros_like(one.mean))
    assert torch.allclose(one.kl(), one.kl_to(prior))
    assert prior.kl().tolist() == [0, 0, 0, 0]


def test_samples_have_the_mean_and_the_variance():
    one = posterior_of(0, num_rows=1)
    many = Posterior(one.mean.detach().expand(20_000, -1), one.log_variance.detach().expand(20_000, -1))
    drawn = many.sample(torch.Generator().manual_seed(0))
    spread = torch.exp(one.log_variance[0] / 2)
    assert ((drawn.mean(dim=0) - one.mean[0]).abs() < 5 * spread / 20_000**0.5).all()
    assert torch.allclose(drawn.std(dim=0), spread, rtol=0.05)


def test_samples_depend_on_their_generator_alone_and_have_gradients():
    one = posterior_of(0)
    first = one.sample(torch.Generator().manual_seed(3))
    torch.manual_seed(9)
    assert torch.equal(one.sample(torch.Generator().manual_seed(3)), first)
    assert not torch.equal(one.sample(torch.Generator().manual_seed(4)), first)
    noise = (first - one.mean) / torch.exp(one.log_variance / 2)
    assert torch.allclose(one.at(noise), first)
    for_mean, for_log_variance = torch.autograd.grad(first.sum(), [one.mean, one.log_variance])
    assert torch.equal(for_mean, torch.ones_like(for_mean))
    assert torch.allclose(for_log_variance, noise * torch.exp(one.log_variance / 2) / 2)


def test_detached_distributions_have_no_history():
    one = posterior_of(0)
    free = one.detach()
    assert not free.mean.requires_grad
    assert not free.log_variance.requires_grad
    assert torch.equal(free.mean, one.mean)
    assert len(free) == 4


def test_fields_cannot_be_changed():
    with pytest.raises(AttributeError):
        posterior_of(0).mean = torch.zeros(1, 1)
