from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gossamer.metrics.sparsity import average_hoyer, hoyer
from gossamer.models.spikeslab.dial import HIGHEST, SparsityDial, fewest_on, hoyer_of


def test_hoyer_is_that_of_the_metrics():
    codes = torch.randn(20, 5)
    np.testing.assert_allclose(hoyer_of(codes, torch.ones(5)).numpy(), hoyer(codes.numpy()), atol=1e-6)
    found = hoyer_of(codes, codes.std(dim=0, correction=0)).mean().item()
    assert found == pytest.approx(average_hoyer(codes.numpy()), abs=1e-6)


def spiky_codes(share: float, generator: torch.Generator, spike: float = 0.05) -> torch.Tensor:
    is_on = torch.rand(200, 32, generator=generator) < share
    noise = torch.randn(200, 32, generator=generator)
    return torch.where(is_on, noise, spike * noise)


def test_hoyer_falls_again_where_nearly_all_is_off():
    """The reason for two controllers."""
    generator = torch.Generator().manual_seed(0)
    at = {share: average_hoyer(spiky_codes(share, generator).numpy()) for share in (0.5, 0.1, 0.001)}
    assert at[0.1] > at[0.5] > at[0.001]
    assert fewest_on(32, 0.001) == 2 / 32


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
