"""Sparsemax is the projection on the simplex, its backward the Jacobian, and its loss convex with gradient p − q."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gossamer.core.sparsemax import sparsemax, sparsemax_loss, uniform_target

FINITE = st.floats(-50, 50, allow_nan=False, width=32)
ROWS = st.lists(FINITE, min_size=1, max_size=6)


def project_by_brute_force(scores: Tensor) -> Tensor:
    """Return the nearest point among the projections on all faces of the simplex."""
    size, best, nearest = len(scores), torch.inf, scores
    for num_on in range(1, size + 1):
        for chosen in combinations(range(size), num_on):
            point = torch.zeros_like(scores)
            index = torch.tensor(chosen)
            point[index] = scores[index] - (scores[index].sum() - 1) / num_on
            distance = float((point - scores).square().sum())
            if bool((point >= 0).all()) and distance < best:
                best, nearest = distance, point
    return nearest


@given(ROWS)
def test_it_is_the_projection_on_the_simplex(row: list[float]) -> None:
    scores = torch.tensor(row, dtype=torch.float64)
    torch.testing.assert_close(sparsemax(scores), project_by_brute_force(scores), rtol=1e-9, atol=1e-9)


@given(ROWS, st.floats(-1e4, 1e4, allow_nan=False))
def test_it_sums_to_one_and_ignores_a_shift(row: list[float], shift: float) -> None:
    scores = torch.tensor(row, dtype=torch.float64)
    probs = sparsemax(scores)
    assert float(probs.sum()) == pytest.approx(1, abs=1e-9)
    assert bool((probs >= 0).all())
    torch.testing.assert_close(sparsemax(scores + shift), probs, rtol=0, atol=1e-8)


def test_ties_share_and_large_scores_keep_their_digits() -> None:
    assert sparsemax(torch.zeros(4)).tolist() == [0.25] * 4
    torch.testing.assert_close(sparsemax(torch.tensor([1e6, 1e6 - 0.5])), torch.tensor([0.75, 0.25]))


def test_backward_is_the_jacobian() -> None:
    scores = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(sparsemax, (scores,))
    probs = sparsemax(scores[0])
    support = (probs > 0).double()
    expected = torch.diag(support) - torch.outer(support, support) / support.sum()
    torch.testing.assert_close(torch.autograd.functional.jacobian(sparsemax, scores[0].detach()), expected)


def test_loss_has_the_gradient_of_the_paper() -> None:
    scores = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    target = uniform_target(torch.tensor([[1.0, 0, 0, 1, 1]] * 6, dtype=torch.float64))
    (gradient,) = torch.autograd.grad(sparsemax_loss(scores, target).sum(), scores)
    torch.testing.assert_close(gradient, (sparsemax(scores) - target).detach())
    assert torch.autograd.gradcheck(lambda z: sparsemax_loss(z, target), (scores,))


def test_loss_equals_the_written_equation() -> None:
    scores = torch.randn(20, 6, dtype=torch.float64)
    target = uniform_target((torch.rand(20, 6) < 0.5).double().index_fill_(1, torch.tensor([0]), 1.0))
    probs = sparsemax(scores)
    on = probs > 0
    threshold = ((scores * on).sum(1) - 1) / on.sum(1)
    written = (
        -(target * scores).sum(1)
        + 0.5 * ((scores.square() - threshold[:, None].square()) * on).sum(1)
        + 0.5 * target.square().sum(1)
    )
    torch.testing.assert_close(sparsemax_loss(scores, target), written)
    assert bool((written >= -1e-12).all())


def test_loss_is_zero_where_the_target_is_met() -> None:
    target = uniform_target(torch.tensor([[1.0, 1, 0, 0]], dtype=torch.float64))
    scores = torch.tensor([[2.0, 2, 1, -3]], dtype=torch.float64)  # a margin of 1/2 is enough
    assert float(sparsemax_loss(scores, target)) == pytest.approx(0, abs=1e-12)


def test_it_equals_entmax() -> None:
    entmax = pytest.importorskip("entmax", reason="entmax is not installed; pip install entmax to compare with it")
    scores = 3 * torch.randn(50, 9, dtype=torch.float64, requires_grad=True)
    ours, theirs = sparsemax(scores), entmax.sparsemax(scores, dim=-1)
    torch.testing.assert_close(ours, theirs)
    weights = torch.randn(50, 9, dtype=torch.float64)
    gradients = [torch.autograd.grad((weights * probs).sum(), scores)[0] for probs in (ours, theirs)]
    torch.testing.assert_close(*gradients)
    labels = torch.arange(50) % 9
    one_hot = torch.nn.functional.one_hot(labels, 9).double()
    torch.testing.assert_close(sparsemax_loss(scores, one_hot), entmax.sparsemax_loss(scores, labels).squeeze(-1))


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="labels must have at least one label in every row, got none in row 1"):
        uniform_target(torch.tensor([[1.0, 0], [0, 0]]))
    with pytest.raises(ValueError, match="scores must have at least one column, got 0"):
        sparsemax(torch.zeros(2, 0))
