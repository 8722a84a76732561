from __future__ import annotations

import pytest
import torch

from gossamer.models.discrete.temperatures import Temperatures


def test_annealing_goes_from_start_to_floor_in_equal_ratios():
    temperatures = Temperatures(2, "annealed", 1.0, 0.25, 4)
    seen = []
    for _ in range(6):
        seen.append(temperatures()[0].item())
        temperatures.advance()
    assert seen == pytest.approx([1, 0.25**0.25, 0.5, 0.25**0.75, 0.25, 0.25])


def test_learned_temperatures_follow_their_gradient_but_not_below_the_floor():
    temperatures = Temperatures(2, "learned", 1.0, 0.5, 1)
    optimiser = torch.optim.SGD(temperatures.parameters(), lr=1.0)
    for _ in range(10):
        optimiser.zero_grad()
        (temperatures() * torch.tensor([1.0, -0.1])).sum().backward()
        optimiser.step()
    first, second = temperatures().tolist()
    assert first == pytest.approx(0.5)
    assert second > 1.5


def test_fixed_temperatures_stay_and_learn_nothing():
    temperatures = Temperatures(1, "fixed", 0.7, 0.1, 10)
    temperatures.advance()
    assert temperatures().item() == pytest.approx(0.7)
    assert not list(temperatures.parameters())
