from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import integrate

from gossamer.models.embeddings.rivals.log_uniform import log_alpha_of, log_uniform_kl, summed_kl


def integrated_kl(log_alpha: float) -> float:
    """KL(N(1, α) ‖ log-uniform) = E log|z + 1/√α| − E log|z| with z ~ N(0, 1), by quadrature on both sides of log 0."""
    shift = math.exp(-0.5 * log_alpha)

    def density(z: float) -> float:
        return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) * math.log(abs(z + shift)) if z != -shift else 0.0

    edges = sorted({-12.0, max(-12.0, -shift), 0.0, 12.0})
    parts = [integrate.quad(density, low, high, limit=200)[0] for low, high in itertools.pairwise(edges)]
    return sum(parts) + (np.euler_gamma + math.log(2)) / 2


@pytest.mark.parametrize("log_alpha", [-6.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])
def test_the_kl_approximation_agrees_with_quadrature(log_alpha: float):
    assert log_uniform_kl(torch.tensor(log_alpha)).item() == pytest.approx(integrated_kl(log_alpha), abs=0.01)


def test_the_kl_falls_with_alpha_and_its_gradient_is_right():
    log_alpha = torch.linspace(-8, 8, 33, dtype=torch.float64, requires_grad=True)
    assert (log_uniform_kl(log_alpha).diff() < 0).all()
    assert torch.autograd.gradcheck(log_uniform_kl, (log_alpha,))


def test_the_blockwise_sum_is_the_sum_and_so_is_its_gradient(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gossamer.models.embeddings.rivals.log_uniform.NUMBERS_AT_ONCE", 12)
    means = torch.randn(10, 5, dtype=torch.float64, requires_grad=True)
    log_variance = torch.randn(10, 5, dtype=torch.float64, requires_grad=True)
    expected = log_uniform_kl(log_alpha_of(means, log_variance)).sum()
    torch.testing.assert_close(summed_kl(means, log_variance), expected)
    assert torch.autograd.gradcheck(summed_kl, (means, log_variance))


def test_a_mean_of_zero_costs_nothing_and_pulls_nowhere():
    means = torch.zeros(1, 1, requires_grad=True)
    cost = summed_kl(means, torch.zeros(1, 1))
    cost.backward()
    assert cost.item() == pytest.approx(0, abs=1e-5)
    assert means.grad is not None
    assert means.grad.item() == 0
