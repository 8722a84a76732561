from __future__ import annotations

import torch
from torch import Tensor

from gossamer.models.discrete.gated_sum import gated_relaxed_sum


def test_the_gated_sum_has_the_gradient_of_its_definition():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    gates = torch.rand(2, 4, dtype=torch.float64, generator=generator).requires_grad_()
    temperature = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    noise = torch.randn(2, 4, 3, dtype=torch.float64, generator=generator)

    def ours(logits: Tensor, gates: Tensor, temperature: Tensor) -> Tensor:
        return gated_relaxed_sum(logits, gates, temperature, noise.clone())

    draws = ((logits.unsqueeze(1) + noise) / temperature).softmax(dim=-1)
    torch.testing.assert_close(ours(logits, gates, temperature), (gates.unsqueeze(-1) * draws).sum(dim=1))
    assert torch.autograd.gradcheck(ours, (logits, gates, temperature))
