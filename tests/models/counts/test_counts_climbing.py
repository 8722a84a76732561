from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from gossamer.models.counts.climbing import climb_up, fell
from gossamer.models.counts.posterior import Posterior


@dataclass
class Halving:
    """Documents whose every step gains half of the one before; means count the steps, variances name the rows."""

    gains: Tensor
    steps: Tensor
    names: Tensor

    def step(self, number):
        self.gains, self.steps = self.gains / 2, self.steps + 1
        assert bool((self.steps == number).all())
        return self.gains

    def take(self, rows):
        return Halving(self.gains[rows], self.steps[rows], self.names[rows])

    def posterior(self):
        return Posterior(self.steps.unsqueeze(1), self.names.unsqueeze(1))


def climb(num_steps, tolerance, fewest_steps=1, gains=(1.0, 64.0, 8.0, 64.0)):
    names = torch.arange(len(gains)).float()
    return climb_up(
        Halving(torch.tensor(gains), torch.zeros(len(gains)), names), len(gains), num_steps, tolerance, fewest_steps
    )


@pytest.mark.parametrize(
    ("num_steps", "tolerance", "fewest_steps", "expected"),
    [
        (5, None, 1, [5, 5, 5, 5]),
        (5, 0.5, 1, [1, 5, 4, 5]),
        (20, 0.5, 1, [1, 7, 4, 7]),
        (20, 0.5, 3, [3, 7, 4, 7]),
        (2, 0.5, 3, [2, 2, 2, 2]),
        (20, 100.0, 1, [1, 1, 1, 1]),
    ],
)
def test_rows_leave_when_they_gain_too_little_and_come_back_in_order(num_steps, tolerance, fewest_steps, expected):
    found = climb(num_steps, tolerance, fewest_steps)
    assert found.mean.squeeze(1).tolist() == expected
    assert found.log_variance.squeeze(1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(-99.0, False), (-100.0, False), (-100.00001, False), (-100.1, True), (torch.nan, True), (torch.inf, True)],
)
def test_what_counts_as_a_fall(value, expected):
    assert fell(torch.tensor([[value]]), torch.tensor([[-100.0]])).tolist() == [expected]
