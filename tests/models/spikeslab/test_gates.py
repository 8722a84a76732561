from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gossamer.models.spikeslab.gates import (
    LARGEST,
    SMALLEST,
    BalancedScores,
    beta_kl,
    concentrations,
    draw_beta_logit,
    draw_switch,
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("alpha", "beta"), [(4.0, 1.0), (0.3, 0.2), (0.05, 0.05), (50.0, 20.0)])
def test_draws_have_the_distribution(alpha, beta):
    shape = (20_000,)
    a, b = torch.full(shape, alpha, dtype=torch.float64), torch.full(shape, beta, dtype=torch.float64)
    gamma = torch.sigmoid(draw_beta_logit(a, b, generator())).numpy()
    points = np.array([1e-6, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
    found = (gamma[:, None] <= points).mean(axis=0)
    np.testing.assert_allclose(found, stats.beta(alpha, beta).cdf(points), atol=0.015)


@pytest.mark.parametrize(("alpha", "beta"), [(4.0, 1.0), (0.6, 0.4), (20.0, 3.0)])
def test_the_gradient_of_a_draw_has_the_right_mean(alpha, beta):
    a = torch.full((100_000,), alpha, dtype=torch.float64, requires_grad=True)
    b = torch.full((100_000,), beta, dtype=torch.float64, requires_grad=True)
    gamma = torch.sigmoid(draw_beta_logit(a, b, generator()))
    (gamma + gamma**2).sum().backward()
    x, y = torch.tensor([alpha, beta], dtype=torch.float64).requires_grad_(), None
    total = x.sum()
    mean = x[0] / total
    y = mean + mean * (x[0] + 1) / (total + 1)
    y.backward()
    for drawn, exact in zip((a.grad, b.grad), x.grad, strict=True):
        error = drawn.std() / np.sqrt(len(drawn))
        assert abs(drawn.mean() - exact) < 5 * error


def test_beta_kl_is_that_of_torch_and_of_integration():
    q = torch.distributions.Beta(torch.tensor(2.5, dtype=torch.float64), torch.tensor(0.7, dtype=torch.float64))
    p = torch.distributions.Beta(torch.tensor(4.0, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64))
    found = beta_kl(q.concentration1, q.concentration0, 4.0, 1.0)
    assert found.item() == pytest.approx(torch.distributions.kl_divergence(q, p).item())
    of_q, of_p = stats.beta(2.5, 0.7), stats.beta(4.0, 1.0)
    assert found.item() == pytest.approx(of_q.expect(lambda x: of_q.logpdf(x) - of_p.logpdf(x)), rel=1e-5)


def test_gradients():
    parameters = tuple(torch.rand(3, dtype=torch.float64).add(0.2).requires_grad_() for _ in range(4))
    assert torch.autograd.gradcheck(beta_kl, parameters)


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.floats(1e-3, 1e4), st.floats(1e-3, 1e3))
def test_nothing_is_nan_anywhere_in_float32(raw_alpha, raw_beta, prior_alpha, prior_beta):
    raw = torch.tensor([raw_alpha, raw_beta], dtype=torch.float32, requires_grad=True)
    alpha, beta = concentrations(raw[:1]), concentrations(raw[1:])
    assert SMALLEST <= alpha.item() <= LARGEST
    logit = draw_beta_logit(alpha, beta, generator())
    switch = draw_switch(logit, 0.5, generator())
    kl = beta_kl(alpha, beta, prior_alpha, prior_beta)
    (logit + switch + kl).sum().backward()
    assert torch.isfinite(logit + kl).all()
    assert torch.isfinite(raw.grad).all()


def test_a_switch_is_hard_and_off_as_often_as_it_should_be():
    logit = torch.full((50_000,), 1.2, requires_grad=True)
    switch = draw_switch(logit, 0.5, generator())
    assert set(switch.tolist()) == {0.0, 1.0}
    assert switch.mean().item() == pytest.approx(torch.sigmoid(torch.tensor(1.2)).item(), abs=0.01)
    switch.sum().backward()
    assert (logit.grad >= 0).all()
    assert logit.grad.sum() > 0


def test_the_gradient_of_a_switch_is_that_of_the_relaxed_draw():
    logit = torch.tensor([0.4, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    draw_switch(logit, 0.7, generator(3)).sum().backward()
    noise = torch.logit(torch.rand(3, generator=generator(3), dtype=torch.float64))
    relaxed = torch.sigmoid((logit.detach() + noise) / 0.7)
    torch.testing.assert_close(logit.grad, relaxed * (1 - relaxed) / 0.7)


def test_states_of_balanced_scores_hold_real_numbers_and_load_without_torchs_metadata():
    """A checkpoint's state is a plain dict, and for one of those torch's batch norm makes up a counter of batches."""
    scores, other = BalancedScores(3), BalancedScores(3)
    scores(torch.randn(8, 3))
    state = dict(scores.state_dict())
    assert all(tensor.is_floating_point() for tensor in state.values())
    other.load_state_dict(state)
    assert torch.equal(other.over_sentences.running_mean, scores.over_sentences.running_mean)
