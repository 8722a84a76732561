from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.metrics.sparsity import average_hoyer, hoyer
from gossamer.models.spikeslab.dial import HIGHEST, LOWEST, SparsityDial, hoyer_of


def test_hoyer_is_that_of_the_metrics():
    codes = torch.randn(20, 5)
    np.testing.assert_allclose(hoyer_of(codes, torch.ones(5)).numpy(), hoyer(codes.numpy()), atol=1e-6)
    found = hoyer_of(codes, codes.std(dim=0, correction=0)).mean().item()
    assert found == pytest.approx(average_hoyer(codes.numpy()), abs=1e-6)


def sparse_codes(share: float, generator: torch.Generator) -> torch.Tensor:
    is_on = torch.rand(100, 16, generator=generator) < share
    return is_on * torch.randn(100, 16, generator=generator)


def test_it_turns_towards_what_was_asked_for():
    generator = torch.Generator().manual_seed(0)
    log_alpha = torch.zeros(())
    dial = SparsityDial(0.7, 16, 200)
    for _ in range(200):  # a model that follows at once: the larger alpha, the fewer are on
        dial.turn(sparse_codes(float(torch.sigmoid(-log_alpha)), generator), log_alpha)
    codes = sparse_codes(float(torch.sigmoid(-log_alpha)), generator)
    assert average_hoyer(codes.numpy()) == pytest.approx(0.7, abs=0.05)


@pytest.mark.parametrize(("target", "end"), [(0.99, HIGHEST), (0.01, LOWEST)])
def test_it_stops_at_the_end_of_its_range(target, end):
    log_alpha, dial = torch.zeros(()), SparsityDial(target, 16, 10)
    for _ in range(200):
        dial.turn(sparse_codes(0.5, torch.Generator().manual_seed(0)), log_alpha)
    assert log_alpha.item() == pytest.approx(end)
