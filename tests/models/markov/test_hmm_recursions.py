from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from tiny_models import TinyModel, assert_close, gradients, owned, random_model, tiny_models
from torch import Tensor

from gossamer.models.markov.hmm_recursions import (
    hmm_best_path,
    hmm_expected_counts,
    hmm_log_backward_values,
    hmm_log_forward_values,
    hmm_log_likelihood,
    hmm_pairwise_posterior,
    hmm_posterior,
)
from gossamer.testing.path_enumeration import hmm_paths


def enumerated(model: TinyModel) -> list[tuple[Tensor, Tensor]]:
    """Return paths and log weights of every sequence, by brute force."""
    return [
        hmm_paths(owned(model.initial, i, 1), owned(model.transition, i, 2), model.emissions[rows])
        for i, rows in model.parts()
    ]


def total_of(weights: Tensor) -> Tensor:
    """Return log Σ exp of the possible paths only: autograd of logsumexp over -inf alone is NaN."""
    possible = weights[weights > -torch.inf]
    return possible.logsumexp(0) if len(possible) else weights.new_tensor(-torch.inf)


def likelihoods(model: TinyModel) -> Tensor:
    return torch.stack([total_of(weights) for _, weights in enumerated(model)])


@settings(max_examples=60)
@given(tiny_models)
def test_likelihood_and_counts_equal_enumeration(model: TinyModel):
    expected = likelihoods(model)
    found = hmm_log_likelihood(*model.hmm, model.offsets)
    assert_close([found], [expected])
    possible = expected > -torch.inf
    weights = torch.arange(1.0, len(expected) + 1).double()
    right = gradients((weights * expected)[possible].sum(), model.hmm)
    assert_close(gradients((weights * found)[possible].sum(), model.hmm), right)
    counts = hmm_expected_counts(*model.hmm, model.offsets)
    assert_close([counts.log_likelihood, *counts[1:]], [expected, *gradients(expected[possible].sum(), model.hmm)])


@settings(max_examples=40)
@given(tiny_models)
def test_gradient_of_counts_equals_second_derivative_of_enumeration(model: TinyModel):
    expected = likelihoods(model)
    possible = expected > -torch.inf
    counts = hmm_expected_counts(*model.hmm, model.offsets)
    right = gradients(expected[possible].sum(), model.hmm)
    generator = torch.Generator().manual_seed(1)
    along = [torch.randn(value.shape, generator=generator, dtype=torch.double) for value in right]
    expected_product = sum((value * v).sum() for value, v in zip(right, along, strict=True)) + expected[possible].sum()
    product = sum((value * v).sum() for value, v in zip(counts[1:], along, strict=True))
    product = product + counts.log_likelihood[possible].sum()
    assert_close(gradients(product, model.hmm), gradients(expected_product, model.hmm))


@settings(max_examples=40)
@given(tiny_models)
def test_best_path_equals_enumeration(model: TinyModel):
    path, log_probs = hmm_best_path(*model.hmm, model.offsets)
    for (i, rows), (paths, weights) in zip(model.parts(), enumerated(model), strict=True):
        torch.testing.assert_close(log_probs[i], weights.detach().max())
        if log_probs[i] > -torch.inf:
            assert weights[(paths == path[rows]).all(1)].item() == pytest.approx(log_probs[i].item())


@settings(max_examples=40)
@given(tiny_models)
def test_forward_backward_and_pairs_equal_enumeration(model: TinyModel):
    forward = hmm_log_forward_values(*model.hmm, model.offsets)
    backward = hmm_log_backward_values(model.transition, model.emissions, model.offsets)
    pairs = hmm_pairwise_posterior(*model.hmm, model.offsets)
    for (_, rows), (paths, weights) in zip(model.parts(), enumerated(model), strict=True):
        total = total_of(weights)
        for step in range(paths.shape[1]):
            both = forward[rows][step] + backward[rows][step]
            by_state = torch.stack([total_of(weights[paths[:, step] == state]) for state in range(len(both))])
            torch.testing.assert_close(both, by_state.detach(), rtol=1e-9, atol=1e-9)
        share = torch.softmax(weights, 0).detach() if total > -torch.inf else torch.zeros(len(weights)).double()
        expected = torch.zeros_like(pairs[rows])
        for step in range(paths.shape[1] - 1):
            expected[step].index_put_((paths[:, step], paths[:, step + 1]), share, accumulate=True)
        torch.testing.assert_close(pairs[rows], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("per_sequence", [False, True])
def test_gradcheck(per_sequence: bool):
    model = random_model(3, 2, [3, 1, 4], zeros=0.0, per_sequence=per_sequence)
    assert torch.autograd.gradcheck(lambda *logs: hmm_log_likelihood(*logs, model.offsets), model.hmm)
    assert torch.autograd.gradcheck(lambda *logs: tuple(hmm_expected_counts(*logs, model.offsets)), model.hmm)


def test_single_precision_gives_single_precision():
    model = random_model(5, 3, [4, 2], zeros=0.0)
    singles = [log.detach().float().requires_grad_() for log in model.hmm]
    found = hmm_log_likelihood(*singles, model.offsets)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), likelihoods(model).detach(), rtol=1e-5, atol=1e-5)
    assert all(value.dtype == torch.float32 for value in gradients(found.sum(), singles))


def test_an_impossible_sequence_has_no_gradient_and_harms_no_other():
    model = random_model(7, 2, [3, 3], zeros=0.0)
    emissions = model.emissions.detach().clone()
    emissions[1] = -torch.inf
    logs = [model.initial, model.transition, emissions.requires_grad_()]
    found = hmm_log_likelihood(*logs, model.offsets)
    assert found[0] == -torch.inf
    parts = gradients(found.sum(), logs)
    assert all(torch.isfinite(part).all() for part in parts)
    assert (parts[2][:3] == 0).all()
    torch.testing.assert_close(parts[2][3:].sum(1), torch.ones(3).double())


def test_a_path_that_underflows_and_wins_in_the_end_is_not_lost():
    """State 1 is e^-2000 less likely at first and e^+3000 more later; a chain that never moves must remember it."""
    stay = torch.eye(2, dtype=torch.double).log()
    emissions = torch.tensor([[0.0, -2000.0], [0.0, 0.0], [-3000.0, 0.0]], dtype=torch.double)
    half = torch.tensor([0.5, 0.5], dtype=torch.double).log()
    found = hmm_expected_counts(half, stay, emissions, np.array([0, 3]))
    assert found.log_likelihood.item() == pytest.approx(np.log(0.5) - 2000)
    torch.testing.assert_close(found.states, torch.tensor([[0.0, 1.0]] * 3).double())


def test_a_hundred_thousand_steps_neither_underflow_nor_drift():
    num_steps = 100_000
    generator = torch.Generator().manual_seed(0)
    emissions = torch.randn(num_steps, 3, generator=generator, dtype=torch.double) - 50
    initial, transition = torch.zeros(3).double().log_softmax(0), torch.eye(3).double().log_softmax(1)
    counts = hmm_expected_counts(initial, transition, emissions, np.array([0, num_steps]))
    assert torch.isfinite(counts.log_likelihood).all()
    torch.testing.assert_close(counts.states.sum(1), torch.ones(num_steps).double(), rtol=0, atol=1e-9)
    torch.testing.assert_close(counts.transition.sum(), torch.tensor(num_steps - 1.0).double())


def test_sequences_do_not_know_each_other():
    model = random_model(11, 3, [2, 5, 1], zeros=0.0)
    together = hmm_posterior(*model.hmm, model.offsets)
    for _, rows in model.parts():
        alone = hmm_posterior(
            model.initial, model.transition, model.emissions[rows], np.array([0, rows.stop - rows.start])
        )
        torch.testing.assert_close(together[rows], alone)


def test_no_sequence_and_an_empty_sequence_are_sequences():
    model = random_model(13, 2, [0, 3, 0], zeros=0.0)
    assert hmm_log_likelihood(*model.hmm, model.offsets)[[0, 2]].tolist() == [0.0, 0.0]
    none = hmm_log_likelihood(model.initial, model.transition, model.emissions[:0], np.array([0]))
    assert none.shape == (0,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": np.array([0, 2])}, "offsets must rise from 0 to the number of steps, 3"),
        ({"offsets": np.array([0, 4, 3])}, "offsets must rise"),
        ({"initial": torch.zeros(3)}, r"log_initial must have shape \(2,\) or \(1, 2\), got \(3,\)"),
        ({"transition": torch.zeros(2, 3)}, "log_transition must have shape"),
        ({"emissions": torch.full((3, 2), torch.nan)}, "log_emissions must be finite or -inf, got NaN"),
        ({"emissions": torch.zeros(3)}, r"log_emissions must have shape \(N, K\)"),
    ],
)
def test_bad_shapes_are_named(change: dict[str, object], message: str):
    given_ = {
        "initial": torch.zeros(2),
        "transition": torch.zeros(2, 2),
        "emissions": torch.zeros(3, 2),
        "offsets": np.array([0, 3]),
    }
    with pytest.raises(ValueError, match=message):
        hmm_log_likelihood(*(given_ | change).values())
