"""Triplets: exact together, optimal alone in the metric they were fitted to, with the right gradients for masks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from gossamer.models.lowrank.factors import RIDGE, Factors, factorise


def correlated(rows: int, width: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    mix = torch.randn(width, width, generator=generator, dtype=torch.float64) * torch.logspace(0, -2, width)
    return torch.randn(rows, width, generator=generator, dtype=torch.float64) @ mix.mT


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(0, 99))
def test_all_triplets_together_are_the_matrix(rows, cols, groups, seed):
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(groups, rows, cols, generator=generator, dtype=torch.float64)
    inputs = torch.stack([correlated(20, cols, seed + group) for group in range(groups)])
    fitted = factorise(matrix, covariance=inputs.mT @ inputs / 20, row_weights=torch.rand(rows, generator=generator))
    for factors in (factorise(matrix), fitted):
        torch.testing.assert_close(factors.product(torch.ones(factors.rank)), matrix)
        assert (factors.values.diff(dim=1) <= 1e-9).all()


def test_fitted_triplets_beat_every_other_matrix_of_their_rank():
    inputs = correlated(400, 6, 0)
    weight = torch.randn(1, 5, 6, dtype=torch.float64)
    covariance = (inputs.mT @ inputs / len(inputs)).unsqueeze(0)
    fitted, plain = factorise(weight, covariance=covariance), factorise(weight)

    def error(candidate: torch.Tensor) -> float:
        return float(((weight[0] - candidate) @ inputs.mT).square().sum() / len(inputs))

    for rank in range(1, 5):
        masks = (torch.arange(5) < rank).double()
        ours = error(fitted.product(masks)[0])
        # What is dropped is what is lost, up to the ridge.
        dropped = float(fitted.values[0, rank:].square().sum())
        assert 0.8 * dropped < ours <= dropped * (1 + 1e-9)
        assert ours <= error(plain.product(masks)[0]) * (1 + 10 * RIDGE)
        left = torch.randn(5, rank, dtype=torch.float64)
        for _ in range(100):  # alternating least squares on the outputs reach no lower
            right = torch.linalg.lstsq(left, weight[0]).solution
            left = weight[0] @ covariance[0] @ right.mT @ torch.linalg.inv(right @ covariance[0] @ right.mT)
        assert ours <= error(left @ right) * 1.02


def test_row_metrics_decide_what_is_kept():
    matrix = torch.diag(torch.tensor([1.0, 2.0])).double().unsqueeze(0)
    rare_second = factorise(matrix, row_weights=torch.tensor([100.0, 0.01]))
    kept = rare_second.product(torch.tensor([1.0, 0.0]))[0]
    assert kept[0, 0] == pytest.approx(1.0, abs=1e-6)
    taps = torch.diag(torch.tensor([100.0, 0.01], dtype=torch.float64))
    by_taps = factorise(matrix, row_covariance=taps).product(torch.tensor([1.0, 0.0]))[0]
    assert by_taps[0, 0] == pytest.approx(1.0, abs=1e-6)


def test_mask_gradients_are_those_of_autograd():
    torch.manual_seed(1)
    factors = factorise(torch.randn(2, 4, 3, dtype=torch.float64))
    masks = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(factors.product, (masks,))
    upstream = torch.randn(2, 4, 3, dtype=torch.float64)
    (expected,) = torch.autograd.grad((factors.product(masks) * upstream).sum(), masks)
    torch.testing.assert_close(factors.mask_gradient(upstream), expected)


def test_selected_triplets_carry_their_masks():
    factors = factorise(torch.randn(1, 4, 3))
    masks = torch.tensor([1.0, 0.3, 0.5])
    chosen = torch.tensor([0, 2])
    kept = factors.select(chosen, masks)
    torch.testing.assert_close(kept.product(torch.ones(2)), factors.product(torch.tensor([1.0, 0.0, 0.5])))
    assert isinstance(kept, Factors)
    np.testing.assert_allclose(factors.energies(), factors.values.square().sum(0))


def test_inputs_that_are_always_zero_do_no_harm():
    factors = factorise(torch.randn(1, 3, 3), covariance=torch.zeros(1, 3, 3))
    assert torch.isfinite(factors.left).all()
    assert torch.isfinite(factors.right).all()
