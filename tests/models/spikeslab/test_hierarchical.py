from __future__ import annotations

import pytest
import torch
from tiny_sentences import DIMS, FEATURES

from gossamer.models.spikeslab.hierarchical import HierarchicalCodes


@pytest.mark.parametrize(("alpha", "beta"), [(4.0, 1.0), (1.0, 1.0), (0.5, 3.0)])
def test_posteriors_of_gates_begin_as_the_prior(alpha, beta):
    torch.manual_seed(0)
    codes = HierarchicalCodes(FEATURES, DIMS, alpha=alpha, beta=beta)
    found = codes.gates(torch.zeros(1, FEATURES))
    assert found[0].mean().item() == pytest.approx(alpha, rel=0.3)
    assert found[1].mean().item() == pytest.approx(beta, rel=0.3)
    drawn = codes.draw(torch.zeros(1, FEATURES), None)
    assert drawn.kl_gamma.item() < 0.5


def test_a_spike_is_thin_and_a_slab_is_not():
    torch.manual_seed(0)
    codes = HierarchicalCodes(FEATURES, DIMS, alpha=4.0, beta=1.0)
    z = codes.draw(torch.zeros(4_000, FEATURES), torch.Generator().manual_seed(0)).z
    assert (z.abs() < 0.2).float().mean().item() == pytest.approx(0.8 + 0.2 * 0.15, abs=0.06)


def test_both_divergences_agree_when_the_spike_is_thin():
    torch.manual_seed(0)
    codes = HierarchicalCodes(FEATURES, DIMS, spike_scale=1e-4, alpha=1.0, beta=1.0)
    features = torch.randn(1, FEATURES).expand(20_000, FEATURES)
    with torch.no_grad():
        joint = codes.draw(features, torch.Generator().manual_seed(0)).kl_z
        codes.divergence = "mixture"
        mixture = codes.draw(features, torch.Generator().manual_seed(0)).kl_z
    assert (joint - mixture).mean().abs().item() < 5 * (joint - mixture).std().item() / 20_000**0.5 + 1e-3


def test_a_larger_alpha_is_sparser_a_priori():
    shares = []
    for alpha in (0.5, 2.0, 8.0):
        z = HierarchicalCodes(FEATURES, DIMS, alpha=alpha).draw_prior(2_000, torch.Generator().manual_seed(0))
        shares.append((z.abs() < 0.2).float().mean().item())
    assert shares == sorted(shares)


@pytest.mark.slow
def test_no_nan_in_20_seeds_of_1000_steps():
    """Targets far out, full weights on both KLs and a high rate: gates are driven into both corners."""
    for seed in range(20):
        torch.manual_seed(seed)
        codes = HierarchicalCodes(FEATURES, DIMS, alpha=0.2 * (seed + 1), divergence="mixture")
        optimiser = torch.optim.Adam(codes.parameters(), lr=0.03)
        generator = torch.Generator().manual_seed(seed)
        for step in range(1000):
            features = torch.randn(4, FEATURES, generator=generator)
            drawn = codes.draw(features, generator)
            target = 20 * features[:, :DIMS] * (step % 200 < 100)
            loss = (drawn.z[0] - target).square().mean() + drawn.kl_z.mean() + drawn.kl_gamma.mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        assert torch.isfinite(loss)
        assert all(torch.isfinite(weight).all() for weight in codes.parameters())
