"""Projection, weights and effective numbers: equal to linear algebra, and with gradients where SVD has none."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.models.community.communities import (
    community_basis,
    community_weights,
    effective_number,
    entropy,
    formation_penalty,
    grouping_penalty,
    mix_communities,
    orthonormal_start,
    project,
)


def random_space(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), width=st.integers(3, 8), count=st.integers(1, 3))
def test_projection_is_least_squares_and_that_of_svd(seed: int, width: int, count: int) -> None:
    space, full = random_space(seed, count, width), random_space(seed + 1, 5, width)
    within = project(full, community_basis(space))
    coefficients = torch.linalg.lstsq(space.T, full.T).solution
    torch.testing.assert_close(within, (space.T @ coefficients).T)
    right = torch.linalg.svd(space, full_matrices=False).Vh
    torch.testing.assert_close(within, full @ right.T @ right)
    torch.testing.assert_close(project(within, community_basis(space)), within)
    assert ((full - within) @ space.T).abs().max() < 1e-9, "what is the user's own is orthogonal to the communities"


def test_gradient_is_right_where_singular_values_coincide() -> None:
    space = torch.eye(3, 6, dtype=torch.float64).requires_grad_()
    full = random_space(1, 4, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: project(a, community_basis(b)), (full, space))
    through_svd = torch.linalg.svd(space, full_matrices=False).Vh
    (gradient,) = torch.autograd.grad((full @ through_svd.T @ through_svd).square().sum(), space)
    assert not gradient.isfinite().all(), "which is why the projection is by QR"


def test_bases_come_in_batches_and_do_not_depend_on_the_sign_of_lapack() -> None:
    spaces = random_space(2, 3, 2, 5).requires_grad_()
    bases = community_basis(spaces)
    for number in range(3):
        torch.testing.assert_close(bases[number], community_basis(spaces[number]))
    assert torch.autograd.gradcheck(community_basis, (spaces,))


def test_weights_sharpen_as_temperature_falls() -> None:
    distances = torch.tensor([[1.0, 0.5, 0.0]])
    spread = [float(effective_number(community_weights(distances, value))[0]) for value in (10.0, 1.0, 0.1, 0.01)]
    assert spread == sorted(spread, reverse=True)
    assert spread[0] == pytest.approx(3, abs=0.01)
    assert spread[-1] == pytest.approx(1, abs=0.01)


def test_mixture_is_the_weighted_sum() -> None:
    space = random_space(3, 4, 6)
    weights = torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0]], dtype=torch.float64)
    mixed = mix_communities(weights, space)
    torch.testing.assert_close(mixed[0], space[1])
    torch.testing.assert_close(mixed[1], (space[0] + space[2]) / 2)


def test_entropy_is_that_of_torch_and_smooth_at_zero() -> None:
    probs = torch.softmax(random_space(4, 5, 7), dim=-1)
    torch.testing.assert_close(entropy(probs), torch.distributions.Categorical(probs=probs).entropy())
    edge = torch.tensor([1.0, 0.0], requires_grad=True)
    entropy(edge).backward()
    assert edge.grad is not None
    assert edge.grad.isfinite().all()


def test_formation_is_best_where_everybody_has_one_community_and_all_are_equally_large() -> None:
    formed = torch.eye(4).repeat(3, 1)
    uniform = torch.full((12, 4), 0.25)
    collapsed = torch.eye(4)[:1].repeat(12, 1)
    assert float(formation_penalty(formed)) == pytest.approx(-torch.log(torch.tensor(4.0)).item(), abs=1e-5)
    assert float(formation_penalty(uniform)) == pytest.approx(0, abs=1e-6)
    assert float(formation_penalty(collapsed)) == pytest.approx(0, abs=1e-6)


def test_grouping_is_best_at_the_groups_whatever_their_sizes() -> None:
    groups = torch.eye(3, dtype=torch.float64)[[0, 0, 0, 0, 1, 2]]
    assert float(grouping_penalty(groups, groups)) == pytest.approx(0, abs=1e-9)
    equal = torch.eye(3, dtype=torch.float64).repeat(2, 1)
    assert float(grouping_penalty(equal, groups)) > 1
    shares = groups.mean(dim=0).expand(6, 3)  # those of whom nothing is known are all alike
    assert float(grouping_penalty(shares, groups)) < float(grouping_penalty(torch.full_like(shares, 1 / 3), groups))


def test_grouping_is_entropy_and_divergence() -> None:
    soft = torch.softmax(random_space(6, 5, 3), dim=-1)
    logits = random_space(7, 5, 3).requires_grad_()
    weights = torch.softmax(logits, dim=-1)
    divergence = torch.nn.functional.kl_div(torch.log_softmax(logits, dim=-1), soft, reduction="batchmean")
    torch.testing.assert_close(grouping_penalty(weights, soft), divergence + entropy(weights).mean())
    assert torch.autograd.gradcheck(lambda given: grouping_penalty(torch.softmax(given, dim=-1), soft), logits)


def test_start_is_orthonormal() -> None:
    start = orthonormal_start(3, 8, torch.Generator().manual_seed(5))
    torch.testing.assert_close(start @ start.T, torch.eye(3))
