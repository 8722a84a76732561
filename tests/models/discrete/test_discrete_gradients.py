from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gossamer.models.discrete import gradients
from gossamer.models.discrete.gradients import PATHWISE

LOGITS = torch.tensor([0.3, -0.5, 1.1, 0.2], dtype=torch.float64)


MATRIX = torch.tensor(
    [[1.0, 0.3, -0.2, 0.0], [0.3, 2.0, 0.5, -1.0], [-0.2, 0.5, -1.5, 0.4], [0.0, -1.0, 0.4, 0.7]], dtype=torch.float64
)
SLOPE = torch.tensor([0.5, -1.0, 2.0, 0.1], dtype=torch.float64)


def quadratic(choice: Tensor) -> Tensor:
    return (choice @ MATRIX * choice).sum(-1) + choice @ SLOPE


def linear(choice: Tensor) -> Tensor:
    return choice @ SLOPE


def exact_gradient(f: object) -> Tensor:
    logits = LOGITS.clone().requires_grad_()
    values = f(torch.eye(4, dtype=torch.float64))  # type: ignore[operator]
    return torch.autograd.grad((logits.softmax(0) * values).sum(), logits)[0]


def expected_gradient(gradient: str, f: object, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """Return Σ_i π_i · (the estimator's gradient when option i is drawn), which leaves no noise."""
    total = torch.zeros(4, dtype=torch.float64)
    for option, prob in enumerate(LOGITS.softmax(0)):
        monkeypatch.setattr(gradients, "draw_choices", lambda logits, generator, option=option: torch.tensor(option))
        logits = LOGITS.clone().requires_grad_()
        value = f(PATHWISE[gradient](logits, 1.0, None))  # type: ignore[operator]
        total += prob * torch.autograd.grad(value, logits)[0]
    return total


def test_straight_through_is_exact_where_f_is_linear(monkeypatch: pytest.MonkeyPatch):
    torch.testing.assert_close(expected_gradient("straight-through", linear, monkeypatch), exact_gradient(linear))
    biased = expected_gradient("straight-through", quadratic, monkeypatch)
    assert not torch.allclose(biased, exact_gradient(quadratic), atol=1e-2)


def test_reinmax_is_exact_where_f_is_quadratic(monkeypatch: pytest.MonkeyPatch):
    torch.testing.assert_close(expected_gradient("reinmax", quadratic, monkeypatch), exact_gradient(quadratic))


def test_gumbel_rao_has_the_mean_of_gumbel_straight_through_and_less_variance():
    found = {}
    for gradient in ("gumbel-straight-through", "gumbel-rao"):
        logits = LOGITS.expand(4000, 4).clone().requires_grad_()
        value = quadratic(PATHWISE[gradient](logits, 0.7, torch.Generator().manual_seed(0))).sum()
        found[gradient] = torch.autograd.grad(value, logits)[0]
    plain, rao = found["gumbel-straight-through"], found["gumbel-rao"]
    spread = (plain.var(dim=0) + rao.var(dim=0)).sqrt() / 4000**0.5
    assert ((plain.mean(dim=0) - rao.mean(dim=0)).abs() < 5 * spread).all()
    assert rao.var(dim=0).sum() < 0.9 * plain.var(dim=0).sum()


@pytest.mark.parametrize("gradient", [name for name in PATHWISE if name != "relaxed"])
def test_hard_draws_are_one_hot_and_have_their_probabilities(gradient: str):
    logits = LOGITS.expand(20_000, 4)
    drawn = PATHWISE[gradient](logits, 0.5, torch.Generator().manual_seed(0))
    assert ((drawn == 0) | (drawn == 1)).all()
    assert (drawn.sum(dim=1) == 1).all()
    torch.testing.assert_close(drawn.mean(dim=0), LOGITS.softmax(0), atol=0.02, rtol=0)


def test_relaxed_draws_are_the_papers_equation():
    generator = torch.Generator().manual_seed(0)
    drawn = PATHWISE["relaxed"](LOGITS.expand(5, 4), 0.5, generator)
    uniform = torch.rand(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    noise = -torch.log(-torch.log(uniform))
    weights = torch.exp((LOGITS + noise) / 0.5)
    torch.testing.assert_close(drawn, weights / weights.sum(dim=1, keepdim=True))


def test_reinmax_is_the_published_graph_of_softmaxes():
    logits = torch.randn(6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    slope = torch.randn(6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    drawn = PATHWISE["reinmax"](logits, 1.3, torch.Generator().manual_seed(2))
    (found,) = torch.autograd.grad((drawn * slope).sum(), logits)
    # algorithm 2 of Liu et al. (2023)
    probs, hard = logits.softmax(dim=-1), drawn.detach()
    middle = (hard + (logits / 1.3).softmax(dim=-1)) / 2
    middle = ((middle.log() - logits).detach() + logits).softmax(dim=-1)
    (expected,) = torch.autograd.grad(((2 * middle - probs / 2) * slope).sum(), logits)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("gradient", list(PATHWISE))
def test_options_that_are_never_drawn_do_no_harm(gradient: str):
    logits = torch.tensor([[0.0, 1.0, -1e4], [80.0, -80.0, 0.0]], requires_grad=True)
    drawn = PATHWISE[gradient](logits, 0.3, torch.Generator().manual_seed(0))
    (found,) = torch.autograd.grad((drawn * torch.tensor([1.0, 2.0, 3.0])).sum(), logits)
    assert torch.isfinite(found).all()
    assert (drawn[0, 2] == 0).all()
