from __future__ import annotations

import pytest
import torch
from tiny_sentences import DIMS, FEATURES, all_codes

from gossamer.models.spikeslab.codes import GaussianCodes, split_parameters
from gossamer.models.spikeslab.spike_slab import gaussian_kl


@pytest.mark.parametrize("kind", list(all_codes()))
def test_every_distribution_draws_with_finite_gradients(kind):
    codes = all_codes()[kind]
    features = torch.randn(5, FEATURES, requires_grad=True)
    drawn = codes.draw(features, torch.Generator().manual_seed(0), num_samples=2)
    assert drawn.z.shape == (2, 5, DIMS)
    assert drawn.kl_z.shape == drawn.kl_gamma.shape == (5,)
    (drawn.z.sum() + drawn.kl_z.sum() + drawn.kl_gamma.sum() + drawn.divergence + drawn.penalty).backward()
    assert torch.isfinite(features.grad).all()
    assert all(torch.isfinite(weight.grad).all() for weight in codes.parameters())


@pytest.mark.parametrize("is_training", [False, True])
@pytest.mark.parametrize("kind", list(all_codes()))
def test_codes_alone_are_those_that_come_with_costs(kind, is_training):
    codes = all_codes()[kind].train(is_training)
    features = torch.randn(5, FEATURES)
    alone = codes.draw_codes(features, torch.Generator().manual_seed(0))
    assert torch.equal(alone, codes.draw(features, torch.Generator().manual_seed(0)).z[0])


@pytest.mark.parametrize("kind", list(all_codes()))
def test_the_mean_is_that_of_draws(kind):
    codes = all_codes()[kind].eval()
    features = torch.randn(2, FEATURES)
    with torch.no_grad():
        wide = features.repeat_interleave(500, dim=0)  # gates are drawn once per row
        z = codes.draw(wide, torch.Generator().manual_seed(0), num_samples=40).z
        described = codes.describe(features)
    # HSVAE's slab depends on the γ that was drawn, its mean is taken at E[γ]: near, but not the same.
    tolerance = 0.06 if kind in ("joint", "mixture") else 0.03
    torch.testing.assert_close(z.mean(dim=0).view(2, -1, DIMS).mean(dim=1), described.mean, atol=tolerance, rtol=0)


@pytest.mark.parametrize("kind", list(all_codes()))
def test_the_prior_gives_codes(kind):
    with torch.no_grad():
        z = all_codes()[kind].draw_prior(7, torch.Generator().manual_seed(0))
    assert z.shape == (7, DIMS)
    assert torch.isfinite(z).all()


def test_the_kl_of_a_gaussian_is_the_closed_one():
    codes = GaussianCodes(FEATURES, DIMS)
    features = torch.randn(3, FEATURES)
    expected = gaussian_kl(*split_parameters(codes.head(features))).sum(dim=1)
    torch.testing.assert_close(codes.draw(features, None).kl_z, expected)


def test_norms_of_the_parameters():
    features = torch.randn(3, FEATURES)
    for norm, power in (("l1", 1), ("l2", 2)):
        torch.manual_seed(0)
        codes = GaussianCodes(FEATURES, DIMS, norm=norm)
        mean, log_scale = split_parameters(codes.head(features))
        expected = (mean.abs() ** power + log_scale.exp() ** power).sum() / 3
        torch.testing.assert_close(codes.draw(features, None).penalty, expected)
    assert GaussianCodes(FEATURES, DIMS).draw(features, None).penalty == 0
