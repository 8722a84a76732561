from __future__ import annotations

import pytest
import torch
from tiny_sentences import DIMS, FEATURES
from torch import nn

from gossamer.models.spikeslab.codes import split_parameters
from gossamer.models.spikeslab.gates import concentrations
from gossamer.models.spikeslab.hierarchical import HierarchicalCodes

WIDE = 40  # features and dimensions: with few features scores of many dimensions cannot differ


@pytest.mark.parametrize(("alpha", "beta"), [(4.0, 1.0), (1.0, 1.0), (0.5, 3.0)])
def test_posteriors_of_gates_begin_as_the_prior(alpha, beta):
    torch.manual_seed(0)
    codes = HierarchicalCodes(FEATURES, DIMS, alpha=alpha, beta=beta, gates="free")
    found = codes.gates(torch.zeros(1, FEATURES))
    assert found[0].mean().item() == pytest.approx(alpha, rel=0.3)
    assert found[1].mean().item() == pytest.approx(beta, rel=0.3)
    drawn = codes.draw(torch.zeros(1, FEATURES), None)
    assert drawn.kl_gamma.item() < 0.5


def test_a_spike_is_thin_and_a_slab_is_not():
    torch.manual_seed(0)
    codes = HierarchicalCodes(FEATURES, DIMS, alpha=4.0, beta=1.0, gates="free")
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


@pytest.mark.parametrize("offset", [0, 20])  # how far from 0 the network puts a dimension as such
@pytest.mark.parametrize(("alpha", "beta"), [(4.0, 1.0), (1.0, 1.0), (1.0, 3.0)])
def test_balanced_gates_have_the_priors_share_in_every_dimension_and_sentence(alpha, beta, offset):
    torch.manual_seed(0)
    codes = HierarchicalCodes(WIDE, WIDE, alpha=alpha, beta=beta)
    with torch.no_grad():
        codes.slab_head[-1].bias += offset * torch.randn(2 * WIDE)
        features = torch.randn(2_000, WIDE)
        off_alpha, off_beta = codes.gates(features)
    off = off_alpha / (off_alpha + off_beta)
    wanted = alpha / (alpha + beta)
    assert off.mean().item() == pytest.approx(wanted, abs=0.05)
    assert off.mean(dim=0).sub(wanted).abs().max().item() < 0.15
    assert off.mean(dim=1).sub(wanted).abs().mean().item() < 0.1
    assert ((off < 0.1) | (off > 0.9)).float().mean().item() > 0.5  # decided, most of them


def test_balanced_gates_are_on_where_the_slab_is_far_from_0():
    torch.manual_seed(0)
    codes = HierarchicalCodes(WIDE, WIDE, alpha=2.0)
    with torch.no_grad():
        codes.slab_head[-1].bias[:WIDE] = 0
        features = torch.randn(500, WIDE)
        for _ in range(200):
            codes.gates(features)
        described = codes.eval().describe(features)
    size = described.slab_mean.abs() / described.slab_mean.abs().mean(dim=0)
    assert size[described.is_off].mean() < 0.5 * size[~described.is_off].mean()
    for row, off in zip(described.slab_mean.abs().T, described.off_probs.T, strict=True):  # more so, the farther
        assert torch.corrcoef(torch.stack([row, off]))[0, 1] < -0.5


def test_balanced_gates_do_not_pull_at_the_slab():
    codes = HierarchicalCodes(FEATURES, DIMS)
    sum(part.sum() for part in codes.gates(torch.randn(8, FEATURES))).backward()
    assert all(weight.grad is None for weight in codes.slab_head.parameters())
    assert all(weight.grad is not None for weight in codes.gate_head.parameters())


def test_balanced_gates_of_one_sentence_are_those_it_has_among_others():
    torch.manual_seed(0)
    codes = HierarchicalCodes(FEATURES, DIMS)
    features = torch.randn(50, FEATURES)
    for _ in range(200):
        codes.gates(features)
    together = codes.gates(features)
    codes.eval()
    alone = [codes.gates(row[None]) for row in features]
    for one, many in zip(zip(*alone, strict=True), together, strict=True):
        torch.testing.assert_close(torch.cat(one), many, rtol=0.1, atol=0.1)
    codes.train()
    assert all(torch.isfinite(part).all() for part in codes.gates(features[:1]))


class FreePosteriors(HierarchicalCodes):
    """Parameters of posteriors that are free, instead of a network's outputs: every row is a training of its own."""

    def __init__(self, num_rows: int, **arguments: object) -> None:
        super().__init__(1, DIMS, **arguments)
        self.raw = nn.Parameter(3 * torch.randn(num_rows, 2 * DIMS))
        self.slab = nn.Parameter(3 * torch.randn(num_rows, 2 * DIMS))

    def gates(self, features):
        return concentrations(self.raw).chunk(2, dim=1)

    def _slab(self, features, off_probs):
        return split_parameters(self.slab)


def test_no_nan_in_20_trainings_of_1000_steps():
    """Targets and priors that come and go, full weights on both KLs, a high rate: gates go into both corners."""
    torch.manual_seed(0)
    codes = FreePosteriors(20)
    optimiser = torch.optim.Adam([codes.raw, codes.slab], lr=0.1)
    target = 20 * torch.randn(20, DIMS)
    for step in range(1000):
        codes.divergence = "mixture" if step % 4 else "joint"
        codes.log_alpha.fill_(4.0 if step < 500 else -2.0)
        drawn = codes.draw(torch.zeros(20, 1), None)
        wanted = target * (step % 200 < 100)
        loss = ((drawn.z[0] - wanted).square().sum(dim=1) + drawn.kl_z + drawn.kl_gamma).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        assert torch.isfinite(loss), step
    assert torch.isfinite(codes.raw).all()
    assert torch.isfinite(codes.slab).all()
