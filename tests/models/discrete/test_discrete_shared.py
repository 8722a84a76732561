from __future__ import annotations

import numpy as np
import torch

from gossamer.models.discrete.latent import Latent
from gossamer.models.discrete.shared import SharedLatent


def random_encoded(latent: Latent, num_rows: int = 3, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(num_rows, latent.width, generator=generator, dtype=torch.float64)


def test_an_order_costs_nothing_but_closed_gates_do():
    charged, free = SharedLatent(3, 2).double(), SharedLatent(3, 2, charge_closed=False).double()
    encoded = random_encoded(charged)
    codes = charged.likeliest(encoded)
    assert (charged.kl(encoded, codes) > free.kl(encoded, codes)).all()
    gate = encoded[:, -1].sigmoid()
    only_features = charged.kl(encoded, codes) - free.kl(encoded, codes)
    log_q = encoded[:, :-1].log_softmax(dim=1)
    divergence = (log_q.exp() * (log_q + np.log(3))).sum(dim=1)
    torch.testing.assert_close(only_features, 2 * (1 - gate) * divergence)


def test_the_likeliest_counts_sum_to_the_rounded_number_of_open_gates():
    latent = SharedLatent(4, 10).double()
    logits = torch.tensor([[0.66, 0.12, 0.15, 0.07]], dtype=torch.float64).log()
    encoded = torch.cat([logits, torch.tensor([[0.0]], dtype=torch.float64)], dim=1)
    assert latent.likeliest(encoded).tolist() == [[3.0, 1.0, 1.0, 0.0]]  # of 3.3, 0.6, 0.75 and 0.35


def test_straight_through_counts_have_the_mean_gradient_of_gates_and_features():
    """The fast way, without B × L₀ × K numbers, and the slow one agree in the mean where the decoder is linear."""
    latent = SharedLatent(3, 4).double()
    encoded = torch.tensor([[0.3, -0.2, 0.5, 0.4]], dtype=torch.float64)
    slope = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    rows = encoded.expand(20_000, -1).clone().requires_grad_()
    fast = latent.pathwise(rows, "straight-through", torch.ones(2), torch.Generator().manual_seed(0))
    (each,) = torch.autograd.grad((fast @ slope).sum(), rows)
    # With a linear f the straight-through gradient is exact: that of E[z] = L₀ λ π.
    leaf = encoded.clone().requires_grad_()
    mean = 4 * leaf[:, -1:].sigmoid() * leaf[:, :-1].softmax(dim=1)
    (exact,) = torch.autograd.grad((mean @ slope).sum(), leaf)
    assert ((each.mean(dim=0) - exact[0]).abs() < 5 * each.std(dim=0) / 20_000**0.5 + 1e-9).all()
    torch.testing.assert_close(fast.mean(dim=0), mean[0].detach(), atol=0.05, rtol=0)
