from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from tiny_models import TinyModel, assert_close, gradients, owned, random_model, tiny_models
from torch import Tensor

from gossamer.models.markov.durations import poisson_log_table
from gossamer.models.markov.emissions import EMISSIONS, Prior, owner_sums
from gossamer.models.markov.hmm_recursions import hmm_best_path, hmm_expected_counts
from gossamer.models.markov.hsmm_recursions import (
    hsmm_best_path,
    hsmm_expected_counts,
    hsmm_last_ages,
    hsmm_log_backward_values,
    hsmm_log_forward_values,
    hsmm_log_likelihood,
    hsmm_posterior,
)
from gossamer.models.markov.ragged import sequence_numbers
from gossamer.testing.path_enumeration import hsmm_paths


def enumerated(model: TinyModel) -> list[tuple[Tensor, Tensor]]:
    """Return paths and log weights of every sequence, by brute force."""
    sizes = (1, 2, 2)
    parameters = (model.initial, model.transition, model.duration)
    return [
        hsmm_paths(
            *(owned(parameter, i, size) for parameter, size in zip(parameters, sizes, strict=True)),
            model.emissions[rows],
            censored=model.censored,
        )
        for i, rows in model.parts()
    ]


def likelihoods(model: TinyModel) -> Tensor:
    totals = []
    for _, weights in enumerated(model):
        possible = weights[weights > -torch.inf]
        totals.append(possible.logsumexp(0) if len(possible) else weights.new_tensor(-torch.inf))
    return torch.stack(totals)


def without_nan(values: list[Tensor]) -> list[Tensor]:
    """Return zeros for NaN: autograd's logsumexp over durations that are all impossible, in the oracle only."""
    return [torch.nan_to_num(value, nan=0.0) for value in values]


@settings(max_examples=60)
@given(tiny_models)
def test_likelihood_and_counts_equal_enumeration(model: TinyModel):
    expected = likelihoods(model)
    found = hsmm_log_likelihood(*model.hsmm, model.offsets, censored=model.censored)
    assert_close([found], [expected])
    possible = expected > -torch.inf
    weights = -torch.arange(1.0, len(expected) + 1).double()  # minus: losses are minus log-likelihoods
    right = without_nan(gradients((weights * expected)[possible].sum(), model.hsmm))
    assert_close(gradients((weights * found)[possible].sum(), model.hsmm), right)
    counts = hsmm_expected_counts(*model.hsmm, model.offsets, censored=model.censored)
    right = without_nan(gradients(expected[possible].sum(), model.hsmm))
    assert_close([counts.log_likelihood, *counts[1:]], [expected, *right])


@settings(max_examples=30)
@given(tiny_models)
def test_gradient_of_counts_equals_second_derivative_of_enumeration(model: TinyModel):
    finite = [torch.where(log > -torch.inf, log, torch.full_like(log, -2.0)).detach() for log in model.hsmm[:3]]
    logs = [*(log.requires_grad_() for log in finite), model.emissions]  # second derivatives of the oracle are NaN else
    model = TinyModel(*logs, model.offsets, model.censored)
    expected = likelihoods(model)
    possible = expected > -torch.inf
    counts = hsmm_expected_counts(*logs, model.offsets, censored=model.censored)
    right = gradients(expected[possible].sum(), logs)
    generator = torch.Generator().manual_seed(1)
    along = [torch.randn(value.shape, generator=generator, dtype=torch.double) for value in right]
    product = sum((value * v).sum() for value, v in zip(counts[1:], along, strict=True))
    expected_product = sum((value * v).sum() for value, v in zip(right, along, strict=True))
    assert_close(gradients(product, logs), gradients(expected_product, logs))


@settings(max_examples=40)
@given(tiny_models)
def test_best_path_equals_enumeration(model: TinyModel):
    path, log_probs = hsmm_best_path(*model.hsmm, model.offsets, censored=model.censored)
    for (i, rows), (paths, weights) in zip(model.parts(), enumerated(model), strict=True):
        torch.testing.assert_close(log_probs[i], weights.detach().max())
        if log_probs[i] > -torch.inf:
            same = weights[(paths == path[rows]).all(1)]  # several segmentations where a state may follow itself
            assert same.max().item() == pytest.approx(log_probs[i].item())


@settings(max_examples=30)
@given(tiny_models)
def test_forward_and_backward_values_meet_in_the_likelihood(model: TinyModel):
    expected = likelihoods(model)
    forward = hsmm_log_forward_values(*model.hsmm, model.offsets, censored=model.censored)
    backward = hsmm_log_backward_values(*model.hsmm[1:], model.offsets, censored=model.censored)
    for i, rows in model.parts():
        total = (forward.begins + backward.begins)[rows][0].logsumexp(0)
        torch.testing.assert_close(total, expected[i].detach(), rtol=1e-9, atol=1e-9)
        total = (forward.ends + backward.ends)[rows][-1].logsumexp(0)
        torch.testing.assert_close(total, expected[i].detach(), rtol=1e-9, atol=1e-9)


@settings(max_examples=30)
@given(tiny_models)
def test_last_ages_are_the_posterior_of_the_last_step(model: TinyModel):
    ages = hsmm_last_ages(*model.hsmm, model.offsets)
    posterior = hsmm_posterior(*model.hsmm, model.offsets)
    last = torch.from_numpy(model.offsets[1:] - 1)
    torch.testing.assert_close(ages.sum(2), posterior[last].detach(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("censored", [False, True])
def test_gradcheck(censored: bool):
    model = random_model(3, 2, [3, 1, 4], longest=3, zeros=0.0, per_sequence=True, censored=censored)
    assert torch.autograd.gradcheck(
        lambda *logs: hsmm_log_likelihood(*logs, model.offsets, censored=censored), model.hsmm
    )
    assert torch.autograd.gradcheck(
        lambda *logs: tuple(hsmm_expected_counts(*logs, model.offsets, censored=censored)), model.hsmm
    )


def test_a_whole_em_iteration_is_a_differentiable_layer():
    """Means, variances, rates and probabilities of every sequence in, the same after one iteration out."""
    emission, offsets = EMISSIONS["gaussian"], np.array([0, 5, 9])
    observed = emission.observe(np.random.default_rng(0).normal(size=(9, 2)), 2)
    series = sequence_numbers(offsets)

    def iterate(means: Tensor, logs: Tensor, rates: Tensor, initial: Tensor, transition: Tensor) -> tuple[Tensor, ...]:
        density = emission.log_density(observed, {"means": means, "variances": logs.exp()}, series)
        counts = hsmm_expected_counts(initial, transition, poisson_log_table(rates, 4), density, offsets)
        sums = owner_sums(observed, counts.states, series, 2)
        lasted = (counts.duration * torch.arange(4)).sum(-1) / counts.duration.sum(-1)
        after = emission.maximise(sums, observed, Prior(), None)
        moves = counts.transition / counts.transition.sum(-1, keepdim=True)
        return (*after.values(), lasted, counts.initial, moves, counts.log_likelihood)

    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 2, 2), (2, 2, 2), (2, 2), (2, 2), (2, 2, 2)]
    given_ = [torch.rand(shape, generator=generator, dtype=torch.double).requires_grad_() for shape in shapes]
    assert torch.autograd.gradcheck(iterate, given_)


def test_geometric_durations_are_the_hidden_markov_model():
    rng = np.random.default_rng(0)
    transition = torch.from_numpy(rng.dirichlet(np.ones(3), size=3))
    stay = transition.diagonal()
    moves = transition * (1 - torch.eye(3)) / (1 - stay)[:, None]
    longest = 400  # by then nothing is left of the tail
    table = (1 - stay)[:, None].log() + torch.arange(longest) * stay[:, None].log()
    initial = torch.from_numpy(rng.dirichlet(np.ones(3))).log()
    emissions, offsets = torch.from_numpy(rng.normal(size=(60, 3))), np.array([0, 25, 60])
    semi = hsmm_expected_counts(initial, moves.log(), table, emissions, offsets)
    plain = hmm_expected_counts(initial, transition.log(), emissions, offsets)
    torch.testing.assert_close(semi.log_likelihood, plain.log_likelihood)
    torch.testing.assert_close(semi.states, plain.states)
    torch.testing.assert_close(semi.initial, plain.initial)
    off_diagonal = ~torch.eye(3, dtype=torch.bool)
    torch.testing.assert_close(semi.transition[off_diagonal], plain.transition[off_diagonal])
    best = hsmm_best_path(initial, moves.log(), table, emissions, offsets)
    # The last segment of the HSMM may be longer than it is seen, so only its path is the HMM's, and its weight.
    torch.testing.assert_close(best[1], hmm_best_path(initial, transition.log(), emissions, offsets)[1])


@pytest.mark.parametrize("spread", [1.0, 30.0, 400.0])
def test_long_sequences_keep_their_posterior(spread: float):
    """Scaled and logarithmic recursions agree where segments die by underflow all the time."""
    model = random_model(17, 4, [300], longest=20, zeros=0.0, spread=spread)
    counts = hsmm_expected_counts(*model.hsmm, model.offsets)
    begins, ends = hsmm_log_forward_values(*model.hsmm, model.offsets)
    after = hsmm_log_backward_values(*model.hsmm[1:], model.offsets)
    total = ends[-1].logsumexp(0)
    torch.testing.assert_close(counts.log_likelihood[0], total, rtol=1e-10, atol=0)
    expected = torch.exp(begins + after.begins - total).cumsum(0)
    expected[1:] -= torch.exp(ends + after.ends - total).cumsum(0)[:-1]
    torch.testing.assert_close(counts.states.detach(), expected, rtol=0, atol=1e-7)


def test_a_hundred_thousand_steps_neither_underflow_nor_drift():
    num_steps = 100_000
    generator = torch.Generator().manual_seed(0)
    emissions = torch.randn(num_steps, 2, generator=generator, dtype=torch.double) - 50
    initial = torch.zeros(2).double().log_softmax(0)
    transition = (1 - torch.eye(2).double()).log()
    duration = torch.zeros(2, 6).double().log_softmax(1)
    counts = hsmm_expected_counts(initial, transition, duration, emissions, np.array([0, num_steps]))
    assert torch.isfinite(counts.log_likelihood).all()
    torch.testing.assert_close(counts.states.sum(1), torch.ones(num_steps).double(), rtol=0, atol=1e-7)
    torch.testing.assert_close(counts.duration.sum(), counts.transition.sum() + 1)


def test_single_precision_gives_single_precision():
    model = random_model(5, 3, [4, 2], zeros=0.0)
    singles = [log.detach().float().requires_grad_() for log in model.hsmm]
    found = hsmm_log_likelihood(*singles, model.offsets)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), likelihoods(model).detach(), rtol=1e-5, atol=1e-5)
    assert all(value.dtype == torch.float32 for value in gradients(found.sum(), singles))


def test_a_sequence_that_no_duration_can_fill_is_impossible():
    """One state without successor lasts three steps at most: four steps have likelihood zero and no gradient."""
    logs = [torch.zeros(1).double(), torch.full((1, 1), -torch.inf).double(), torch.zeros(1, 3).double()]
    logs = [log.requires_grad_() for log in logs]
    found = hsmm_log_likelihood(*logs, torch.zeros(7, 1).double(), np.array([0, 4, 7]))
    assert found.tolist() == pytest.approx([-np.inf, 0.0])
    assert all(torch.isfinite(part).all() for part in gradients(found.sum(), logs))


def test_bad_shapes_are_named():
    with pytest.raises(ValueError, match=r"log_duration must have shape \(2, 4\) or \(1, 2, 4\), got \(3, 4\)"):
        hsmm_log_likelihood(torch.zeros(2), torch.zeros(2, 2), torch.zeros(3, 4), torch.zeros(3, 2), np.array([0, 3]))
