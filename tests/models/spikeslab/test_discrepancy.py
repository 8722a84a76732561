from __future__ import annotations

import pytest
import torch

from gossamer.models.spikeslab.discrepancy import inverse_multiquadratic, mmd


def test_mmd_is_the_sum_over_pairs():
    torch.manual_seed(0)
    x, y = torch.randn(4, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64) + 1

    def k(a, b):
        return sum(6 * s / (6 * s + ((a - b) ** 2).sum().item()) for s in (0.5, 2.0))

    of_x = sum(k(x[i], x[j]) for i in range(4) for j in range(4) if i != j) / 12
    of_y = sum(k(y[i], y[j]) for i in range(5) for j in range(5) if i != j) / 20
    both = sum(k(a, b) for a in x for b in y) / 20
    assert mmd(x, y, (0.5, 2.0)).item() == pytest.approx(of_x + of_y - 2 * both)


def test_wide_codes_have_the_same_kernel():
    torch.manual_seed(0)
    x, y = torch.randn(6, 80, dtype=torch.float64), torch.randn(4, 80, dtype=torch.float64)
    squared = torch.cdist(x, y) ** 2
    torch.testing.assert_close(inverse_multiquadratic(x, y, (1.0,)), 160 / (160 + squared))


def test_it_is_small_for_one_distribution_and_large_for_two():
    torch.manual_seed(0)
    x, same, other = torch.randn(400, 4), torch.randn(400, 4), torch.randn(400, 4) * 0.1
    assert abs(mmd(x, same).item()) < 0.02
    assert mmd(x, other).item() > 0.3


def test_one_row_has_no_pairs():
    assert torch.isfinite(mmd(torch.zeros(1, 2), torch.ones(1, 2)))


def test_gradients():
    torch.manual_seed(0)
    x, y = (torch.randn(4, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(mmd, (x, y))
