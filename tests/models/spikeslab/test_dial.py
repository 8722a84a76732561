from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gossamer.metrics.sparsity import average_hoyer, hoyer
from gossamer.models.spikeslab.dial import (
    HIGHEST,
    SparsityDial,
    choose_spike_scale,
    fewest_on,
    hoyer_of,
    reachable_hoyer,
)


def test_hoyer_is_that_of_the_metrics():
    codes = torch.randn(20, 5)
    np.testing.assert_allclose(hoyer_of(codes, torch.ones(5)).numpy(), hoyer(codes.numpy()), atol=1e-6)
    found = hoyer_of(codes, codes.std(dim=0, correction=0)).mean().item()
    assert found == pytest.approx(average_hoyer(codes.numpy()), abs=1e-6)


def spiky_codes(share: float, generator: torch.Generator, spike: float = 0.05, num_dims: int = 32) -> torch.Tensor:
    is_on = torch.rand(200, num_dims, generator=generator) < share
    noise = torch.randn(200, num_dims, generator=generator)
    return torch.where(is_on, noise, spike * noise)


def test_hoyer_falls_again_where_nearly_all_is_off():
    """The reason for two controllers."""
    generator = torch.Generator().manual_seed(0)
    at = {share: average_hoyer(spiky_codes(share, generator).numpy()) for share in (0.5, 0.1, 0.001)}
    assert at[0.1] > at[0.5] > at[0.001]
    assert fewest_on(32, 0.001) == 3 / 32


@pytest.mark.parametrize("latent_dim", [32, 256])
def test_the_papers_spikes_do_not_reach_08_and_the_chosen_ones_do(latent_dim):
    assert reachable_hoyer(latent_dim, 0.05) == pytest.approx(0.68, abs=0.02)
    scale = choose_spike_scale(0.8, latent_dim)
    codes = spiky_codes(fewest_on(latent_dim, scale), torch.Generator().manual_seed(0), scale, latent_dim)
    assert average_hoyer(codes.numpy()) > 0.8
    # Of 32 dimensions whose gates open at random, now and then none is on: 0.9 is out of reach, but not by much.
    assert reachable_hoyer(latent_dim, choose_spike_scale(0.9, latent_dim)) > (0.86 if latent_dim == 32 else 0.92)


def test_the_papers_spikes_stay_where_they_do():
    assert {choose_spike_scale(sparsity, 32) for sparsity in (None, 0.1, 0.6, 0.65)} == {0.05}
    scales = [choose_spike_scale(sparsity, 64) for sparsity in (0.66, 0.75, 0.8, 0.9, 0.99)]
    assert scales == sorted(scales, reverse=True)
    assert all(0 < reachable_hoyer(few, 0.05) < 1 for few in (2, 3, 4))


@pytest.mark.parametrize("target", [0.35, 0.5, 0.65])
def test_it_turns_towards_what_was_asked_for(target):
    generator, log_alpha = torch.Generator().manual_seed(0), torch.tensor(4.0).log()
    dial = SparsityDial(target, 32, 400, spike_scale=0.05, share=0.2)
    share = torch.tensor(0.2)
    for _ in range(400):  # a model that follows slowly: the larger alpha, the fewer are on
        share = share.lerp(torch.sigmoid(-log_alpha), 0.05)
        dial.turn(spiky_codes(float(share), generator), share, log_alpha)
    assert average_hoyer(spiky_codes(float(share), generator).numpy()) == pytest.approx(target, abs=0.03)


def test_what_cannot_be_reached_does_not_close_everything():
    generator, log_alpha = torch.Generator().manual_seed(0), torch.zeros(())
    dial = SparsityDial(0.99, 32, 100, spike_scale=0.05, share=0.2)
    share = torch.tensor(0.2)
    for _ in range(300):
        share = torch.sigmoid(-log_alpha)
        dial.turn(spiky_codes(float(share), generator), share, log_alpha)
    assert float(share) == pytest.approx(0.1, abs=0.02)
    assert log_alpha < HIGHEST
    assert dial.log_share.exp().item() == pytest.approx(math.exp(dial.range[0]))
