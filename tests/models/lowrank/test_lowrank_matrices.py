"""A factor pair computes what the kernel Σ P_j V_jᵀ computes, for every scheme, stride, padding, dilation and group."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.nn import functional

from gossamer.models.lowrank.factors import factorise
from gossamer.models.lowrank.matrices import (
    convolution_factors,
    convolution_from_matrix,
    convolution_to_matrix,
    dense_from_matrix,
    dense_to_matrix,
)


@pytest.mark.parametrize(("scheme", "groups"), list(itertools.product(["spatial", "channel"], [1, 2])))
def test_matrix_and_back_is_the_kernel(scheme, groups):
    weight = torch.randn(6, 4, 3, 5)
    matrix = convolution_to_matrix(weight, groups, scheme)
    assert torch.equal(convolution_from_matrix(matrix, tuple(weight.shape), scheme), weight)


def test_spatial_matrix_by_hand():
    weight = torch.randn(3, 2, 2, 4)
    matrix = convolution_to_matrix(weight, scheme="spatial")[0]
    for f, c, m, n in itertools.product(range(3), range(2), range(2), range(4)):
        assert matrix[f * 4 + n, c * 2 + m] == weight[f, c, m, n]


@pytest.mark.parametrize(
    ("scheme", "groups", "stride", "padding", "dilation"),
    [
        ("spatial", 1, (1, 1), (1, 2), (1, 1)),
        ("spatial", 2, (2, 1), (0, 1), (1, 2)),
        ("channel", 1, (2, 2), (1, 1), (1, 1)),
        ("channel", 2, (1, 2), (2, 0), (2, 1)),
    ],
)
def test_two_layers_at_full_rank_are_the_convolution(scheme, groups, stride, padding, dilation):
    weight = torch.randn(6, 4 // groups, 3, 5, dtype=torch.float64)
    inputs = torch.randn(2, 4, 13, 14, dtype=torch.float64)
    factors = factorise(convolution_to_matrix(weight, groups, scheme))
    first, second = convolution_factors(factors.left, factors.right, tuple(weight.shape), scheme)
    if scheme == "spatial":
        hidden = functional.conv2d(inputs, first, None, (stride[0], 1), (padding[0], 0), (dilation[0], 1), groups)
        outputs = functional.conv2d(hidden, second, None, (1, stride[1]), (0, padding[1]), (1, dilation[1]), groups)
    else:
        hidden = functional.conv2d(inputs, first, None, stride, padding, dilation, groups)
        outputs = functional.conv2d(hidden, second, groups=groups)
    expected = functional.conv2d(inputs, weight, None, stride, padding, dilation, groups)
    torch.testing.assert_close(outputs, expected)


def test_one_dimensional_kernels_have_the_channel_scheme_only():
    weight = torch.randn(4, 3, 5)
    matrix = convolution_to_matrix(weight)
    assert matrix.shape == (1, 4, 15)
    assert torch.equal(convolution_from_matrix(matrix, (4, 3, 5)), weight)
    with pytest.raises(ValueError, match=r"weight must have two kernel axes for the spatial scheme, got shape \(4, 3"):
        convolution_to_matrix(weight, scheme="spatial")


def test_dense_matrices():
    weight = torch.randn(3, 2)
    assert torch.equal(dense_from_matrix(dense_to_matrix(weight)), weight)


def test_an_unknown_scheme_is_named():
    with pytest.raises(ValueError, match="scheme must be one of 'spatial', 'channel', got 'tucker'"):
        convolution_to_matrix(torch.zeros(1, 1, 1, 1), scheme="tucker")
