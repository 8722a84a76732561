from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from gossamer.core.randomness import torch_generator
from gossamer.networks.sampled_softmax import NegativeSampler, inclusion_probs, sampled_softmax_loss

V, D, N = 11, 4, 6


def problem() -> tuple[nn.Embedding, torch.Tensor, torch.Tensor, torch.Tensor]:
    return nn.Embedding(V, D), torch.randn(N, D, requires_grad=True), torch.randint(V, (N,)), torch.randn(V)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=20), st.integers(1, 25))
def test_inclusion_probabilities_sum_to_the_sample_and_keep_the_order(weights: list[float], num_samples: int):
    probs = inclusion_probs(np.array(weights), num_samples)
    assert probs.sum() == pytest.approx(min(num_samples, len(weights)))
    assert (probs > 0).all()
    assert (probs <= 1 + 1e-12).all()
    free = probs < 1 - 1e-9
    if free.any():
        ratios = probs[free] / np.array(weights)[free]
        np.testing.assert_allclose(ratios, ratios[0])


def test_all_words_drawn_is_the_full_softmax():
    embedding, hidden, targets, bias = problem()
    sampler = NegativeSampler(np.arange(V), V)
    negatives = sampler.draw()
    assert negatives.tolist() == list(range(V))
    ours = sampled_softmax_loss(embedding, hidden, targets, negatives, sampler.log_inclusion, bias)
    full = functional.cross_entropy(functional.linear(hidden, embedding.weight, bias), targets)
    torch.testing.assert_close(ours, full)
    variables = [hidden, embedding.weight]
    for mine, other in zip(torch.autograd.grad(ours, variables), torch.autograd.grad(full, variables), strict=True):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("proposal", ["unigram", "log-uniform"])
def test_normaliser_is_estimated_without_bias(proposal: str):
    embedding, hidden, targets, bias = problem()
    sampler = NegativeSampler(np.arange(V)[::-1], 4, proposal=proposal)
    generator = torch_generator(0)
    scores = functional.linear(hidden, embedding.weight, bias).detach()[:1]
    estimates = []
    with torch.no_grad():
        for _ in range(1500):
            drawn = sampler.draw(generator)
            loss = sampled_softmax_loss(embedding, hidden[:1], targets[:1], drawn, sampler.log_inclusion, bias)
            estimates.append((loss + scores[0, targets[0]]).exp())
    found = torch.stack(estimates)
    error = found.std().item() / len(found) ** 0.5
    assert abs(found.mean().item() - scores.exp().sum().item()) < 4 * error + 1e-4


def test_expected_number_of_words_is_drawn():
    sampler = NegativeSampler(np.arange(1000), 50, power=1.0)
    generator = torch_generator(1)
    sizes = [len(sampler.draw(generator)) for _ in range(200)]
    assert np.mean(sizes) == pytest.approx(50, abs=2)


def test_there_is_always_a_negative():
    sampler = NegativeSampler(np.array([1, 1, 1]), 1)
    generator = torch_generator(2)
    assert min(len(sampler.draw(generator)) for _ in range(50)) == 1


def test_gradient_is_finite_where_the_only_negative_is_the_target():
    embedding, hidden, _, bias = problem()
    zeros = torch.zeros(N, dtype=torch.long)
    loss = sampled_softmax_loss(embedding, hidden, zeros, zeros[:1], torch.zeros(V), bias)
    loss.backward()
    assert loss.item() == 0
    assert hidden.grad.isfinite().all()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"num_samples must be an integer >= 1, got 0"):
        NegativeSampler(np.ones(3), 0)
    with pytest.raises(ValueError, match=r"proposal must be one of 'unigram', 'log-uniform', got 'uniform'"):
        NegativeSampler(np.ones(3), 1, proposal="uniform")
    with pytest.raises(ValueError, match=r"power must be a finite number >= 0, got -1"):
        NegativeSampler(np.ones(3), 1, power=-1)
