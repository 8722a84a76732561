from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from gossamer.models.spikeslab.spike_slab import (
    bernoulli_kl,
    gaussian_kl,
    spike_slab_kl,
    spike_slab_kl_sampled,
    spike_slab_log_prob,
)


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def mixture_kl(off: float, mean: float, scale: float, spike: float) -> float:
    """Return the KL of q(z|γ, x) from p(z|γ) by summing over a fine grid, finest where the spike is."""
    grid = np.unique(np.concatenate([np.linspace(-12, 12, 48_001), np.linspace(-6 * spike, 6 * spike, 24_001)]))
    q = (1 - off) * stats.norm.pdf(grid, mean, scale) + off * stats.norm.pdf(grid, 0, spike)
    p = (1 - off) * stats.norm.pdf(grid) + off * stats.norm.pdf(grid, 0, spike)
    return float(np.trapezoid(np.where(q > 0, q * np.log(np.maximum(q, 1e-300) / np.maximum(p, 1e-300)), 0), grid))


def draw(off: float, mean: float, scale: float, spike: float, count: int) -> Tensor:
    rng = np.random.default_rng(0)
    is_off = rng.random(count) < off
    return torch.from_numpy(np.where(is_off, spike * rng.normal(size=count), mean + scale * rng.normal(size=count)))


def test_the_density_is_the_mixture_and_sums_to_one():
    grid = torch.linspace(-9, 9, 60_001, dtype=torch.float64)
    log_prob = spike_slab_log_prob(grid, torch.logit(column(0.8)), 0.5, math.log(0.7))
    expected = 0.2 * stats.norm.pdf(grid, 0.5, 0.7) + 0.8 * stats.norm.pdf(grid, 0, 0.05)
    np.testing.assert_allclose(log_prob.exp().numpy(), expected, rtol=1e-9, atol=1e-300)
    assert torch.trapezoid(log_prob.exp(), grid).item() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("mean", "scale"), [(0.0, 1.0), (1.5, 0.3), (-2.0, 2.5)])
def test_gaussian_kl_is_that_of_torch(mean, scale):
    q, p = torch.distributions.Normal(mean, scale), torch.distributions.Normal(0.4, 0.6)
    found = gaussian_kl(column(mean), column(scale).log(), 0.4, math.log(0.6))
    assert found.item() == pytest.approx(torch.distributions.kl_divergence(q, p).item())


def test_bernoulli_kl_is_that_of_torch():
    q, p = torch.distributions.Bernoulli(0.3), torch.distributions.Bernoulli(0.8)
    found = bernoulli_kl(torch.logit(column(0.3)), torch.logit(column(0.8)))
    assert found.item() == pytest.approx(torch.distributions.kl_divergence(q, p).item(), rel=1e-5)


@pytest.mark.parametrize(
    ("off", "mean", "scale"), [(0.2, 1.0, 0.5), (0.8, 2.0, 0.3), (0.5, 0.1, 0.9), (0.95, 3.0, 0.2)]
)
def test_the_sampled_kl_has_the_mean_that_integration_gives(off, mean, scale):
    z = draw(off, mean, scale, 0.05, 200_000)
    logit = torch.logit(column(off)).expand_as(z)
    one = torch.ones_like(z)
    estimates = spike_slab_kl_sampled(z, logit, mean * one, math.log(scale) * one)
    error = estimates.std() / math.sqrt(len(z))
    assert abs(estimates.mean() - mixture_kl(off, mean, scale, 0.05)) < 5 * error + 1e-4


@pytest.mark.parametrize(("off", "mean", "scale"), [(0.2, 1.0, 0.5), (0.8, 2.0, 0.3), (0.5, 0.1, 0.9)])
def test_the_closed_form_is_a_bound_that_a_thin_spike_makes_exact(off, mean, scale):
    closed = spike_slab_kl(torch.logit(column(off)), column(mean), column(scale).log()).item()
    wide, thin = mixture_kl(off, mean, scale, 0.05), mixture_kl(off, mean, scale, 1e-4)
    assert wide <= closed + 1e-9
    assert closed - thin <= closed - wide + 1e-6
    assert thin == pytest.approx(closed, rel=5e-3)


def test_the_closed_form_with_two_gates_is_the_sum_over_components():
    found = spike_slab_kl(
        torch.logit(column(0.3)), column(1.0), column(0.0), torch.logit(column(0.6)), column(0.5), column(0.2)
    )
    gate = 0.3 * math.log(0.3 / 0.6) + 0.7 * math.log(0.7 / 0.4)
    assert found.item() == pytest.approx(gate + 0.7 * gaussian_kl(column(1.0), column(0.0), 0.5, 0.2).item())


def test_gradients():
    torch.manual_seed(0)
    z, logit, mean, log_scale = (torch.randn(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(4))
    assert torch.autograd.gradcheck(lambda *a: spike_slab_log_prob(*a), (z, logit, mean, log_scale))
    assert torch.autograd.gradcheck(lambda *a: spike_slab_kl_sampled(*a), (z, logit, mean, log_scale))
    others = tuple(torch.randn(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(3))
    assert torch.autograd.gradcheck(lambda *a: spike_slab_kl(*a), (logit, mean, log_scale, *others))


@given(
    logit=st.floats(-30, 30),
    mean=st.floats(-50, 50),
    log_scale=st.floats(-7, 7),
    z=st.floats(-100, 100),
)
def test_nothing_is_nan_anywhere_in_float32(logit, mean, log_scale, z):
    values = [torch.tensor([value], dtype=torch.float32, requires_grad=True) for value in (z, logit, mean, log_scale)]
    total = spike_slab_kl(*values[1:]) + spike_slab_kl_sampled(*values)
    total.sum().backward()
    assert torch.isfinite(total).all()
    assert all(torch.isfinite(value.grad).all() for value in values)
