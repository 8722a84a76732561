"""Probabilities of labels that gated draws hit, against every sequence of draws."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gossamer.models.discrete.label_functional import (
    draws_nll,
    label_probs,
    log_label_rates,
    marginal_nll,
    relaxed_nll,
    relaxed_probs,
)

NUM_LABELS, MAX_ACTIVE = 3, 4


def encoded_rows(num_rows: int, num_features: int = NUM_LABELS) -> Tensor:
    return torch.randn(num_rows, num_features + 1, dtype=torch.float64)


def every_outcome(log_rates: Tensor, max_active: int) -> list[tuple[Tensor, float]]:
    """Return the counts of labels and the probability of every sequence of draws; the last outcome hits no label."""
    rates = log_rates.exp()
    choices = torch.cat([rates, 1 - rates.sum(dim=0, keepdim=True)])
    outcomes = []
    for sequence in product(range(len(choices)), repeat=max_active):
        counts = torch.bincount(torch.tensor(sequence), minlength=len(choices))[:-1]
        outcomes.append((counts, float(torch.stack([choices[draw] for draw in sequence]).prod())))
    return outcomes


@pytest.mark.parametrize("num_latent", [0, 2])
def test_probabilities_are_those_of_all_sequences_of_draws(num_latent: int) -> None:
    encoded = encoded_rows(1, NUM_LABELS + num_latent)
    log_rates = log_label_rates(encoded, NUM_LABELS)
    outcomes = every_outcome(log_rates[0], MAX_ACTIVE)
    assert sum(prob for _, prob in outcomes) == pytest.approx(1)
    on = sum(prob * (counts > 0).double() for counts, prob in outcomes)
    torch.testing.assert_close(label_probs(log_rates, MAX_ACTIVE)[0], on)
    for labels in product([0.0, 1.0], repeat=NUM_LABELS):
        wanted = torch.tensor([labels], dtype=torch.float64)
        exactly = sum(prob for counts, prob in outcomes if counts.tolist() == list(labels))
        assert float(draws_nll(log_rates, wanted, MAX_ACTIVE).neg().exp()) == pytest.approx(exactly)
        marginal = torch.where(wanted[0] > 0, on, 1 - on).prod()
        assert float(marginal_nll(log_rates, wanted, MAX_ACTIVE).neg().exp()) == pytest.approx(float(marginal))


def test_gradients() -> None:
    encoded = encoded_rows(4).requires_grad_()
    labels = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], dtype=torch.float64)
    for nll in (marginal_nll, draws_nll):
        assert torch.autograd.gradcheck(
            lambda rows, nll=nll: nll(log_label_rates(rows, NUM_LABELS), labels, MAX_ACTIVE), (encoded,)
        )
    assert torch.autograd.gradcheck(lambda rows: relaxed_probs(rows, NUM_LABELS, 1, 3.0), (encoded,))


@given(st.floats(-80, 80), st.floats(-80, 80), st.integers(1, 60))
def test_extreme_logits_stay_finite(logit: float, gate: float, max_active: int) -> None:
    encoded = torch.tensor([[logit, 0.0, gate]], dtype=torch.float32, requires_grad=True)
    log_rates = log_label_rates(encoded, 2)
    probs = label_probs(log_rates, max_active)
    assert bool(((probs >= 0) & (probs <= 1)).all())
    for labels in ([[1.0, 0.0]], [[1.0, 1.0]], [[0.0, 0.0]]):
        for nll in (marginal_nll, draws_nll):
            loss = nll(log_rates, torch.tensor(labels), max_active).sum()
            (gradient,) = torch.autograd.grad(loss, encoded, retain_graph=True)
            assert bool(torch.isfinite(loss))
            assert bool(torch.isfinite(gradient).all())


def test_more_labels_than_draws_is_finite_and_still_pulls_the_labels_up() -> None:
    encoded = torch.zeros(1, 4, requires_grad=True)
    loss = draws_nll(log_label_rates(encoded, 3), torch.ones(1, 3), max_active=1).sum()
    (gradient,) = torch.autograd.grad(loss, encoded)
    assert bool(torch.isfinite(loss))
    assert float(gradient[0, -1]) < 0, "the gate opens"


def test_relaxed_draws_are_cut_to_probabilities() -> None:
    labels = torch.tensor([[1.0, 0.0]])
    assert float(relaxed_nll(torch.tensor([[1.7, 0.0]]), labels)) == pytest.approx(0, abs=1e-5)
    probs = relaxed_probs(torch.tensor([[5.0, 0.0, 9.0]]), 2, max_active=4, temperature=1.0)
    assert float(probs.max()) == 1.0
