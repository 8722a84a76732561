"""Directions in use: by hand, and over the epochs of a history."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from gossamer.models.counts.diagnostics.jacobian import log_prob_jacobian, singular_values
from gossamer.models.counts.diagnostics.utilisation import (
    USED,
    count_used,
    count_used_directions,
    document_singular_values,
    mean_words,
    utilisation_curve,
)
from gossamer.models.counts.module import Decoder


def test_singular_values_above_the_threshold_are_counted():
    values = np.array([3.0, 1.0, 0.5])
    assert [count_used(values, threshold) for threshold in (0, 0.5, 1.0, 3.0)] == [3, 2, 1, 0]


def test_a_decoder_uses_the_directions_that_change_words():
    decoder = Decoder(num_terms=4, latent_dim=3)
    with torch.no_grad():
        decoder.bias.zero_()
        # Columns without a mean, orthogonal, of lengths 4, 2 and 0; at 0 each of the 4 terms has the probability 1/4.
        decoder.weight.copy_(torch.tensor([[2.0, 1, 0], [2, -1, 0], [-2, 1, 0], [-2, -1, 0]]))
    np.testing.assert_allclose(document_singular_values(decoder, 9), [6, 3, 0], atol=1e-6)
    assert [count_used_directions(decoder, 9, threshold) for threshold in (1.0, 3.5, 7.0)] == [2, 1, 0]
    assert [count_used_directions(decoder, num_words) for num_words in (0, 0.5, 2, 100)] == [0, 1, 2, 2]


@pytest.mark.parametrize("hidden_dims", [(), (6, 5)])
def test_squares_are_the_eigenvalues_of_the_fisher_information_of_a_document(hidden_dims):
    """Σ_v p_v ∇log p_v ∇log p_vᵀ by autograd, term by term."""
    decoder = Decoder(9, 4, hidden_dims, activation="tanh", init_range=0.9).double()
    information = torch.zeros(4, 4, dtype=torch.float64)
    for term in range(9):
        z = torch.zeros(1, 4, dtype=torch.float64, requires_grad=True)
        log_prob = decoder.logits(z).log_softmax(dim=1)[0, term]
        (gradient,) = torch.autograd.grad(log_prob, z)
        information += log_prob.exp().detach() * gradient.T @ gradient
    found = document_singular_values(decoder, 30)
    np.testing.assert_allclose(found**2, 30 * np.linalg.eigvalsh(information.numpy())[::-1], rtol=1e-9, atol=1e-12)


def test_terms_do_not_make_a_direction_used():
    """Neither many terms of an untrained decoder do, nor splitting each of a trained one into many alike."""
    for num_terms in (60, 2000, 20_000):
        assert count_used_directions(Decoder(num_terms, latent_dim=20), num_words=100) == 0
    decoder = Decoder(30, 4, init_range=0.9)
    values = document_singular_values(decoder, 100)
    split = Decoder(300, 4)
    with torch.no_grad():
        split.weight.copy_(decoder.weight.repeat(10, 1))
        split.bias.copy_(decoder.bias.repeat(10))
    np.testing.assert_allclose(document_singular_values(split, 100), values, rtol=1e-5)
    paper = [singular_values(log_prob_jacobian(each)) for each in (decoder, split)]
    np.testing.assert_allclose(paper[1], np.sqrt(10) * paper[0], rtol=1e-5)  # which is why they are not counted


@pytest.mark.parametrize("num_terms", [40, 400, 4000])
def test_three_directions_that_matter_among_eight_are_three(num_terms):
    decoder = Decoder(num_terms, latent_dim=8)  # begins uniform in ±0.1
    with torch.no_grad():
        decoder.weight[:, :3] = torch.randn(num_terms, 3, generator=torch.Generator().manual_seed(0))
    assert count_used_directions(decoder, num_words=60) == 3
    if num_terms == 4000:
        assert count_used(singular_values(log_prob_jacobian(decoder))) == 8, "the paper's way"


def test_a_history_becomes_a_curve():
    records = [{"epoch": 0, USED: 2.0}, {"epoch": 1, "loss": 1.0}, {"epoch": 2, USED: 5.0}]
    for history in (records, {"epochs": records, "best_epoch": 2}):
        curve = utilisation_curve(history)
        assert curve.name == USED
        assert curve.epochs.tolist() == [1, 3]
        assert curve.values.tolist() == [2, 5]
    assert utilisation_curve([{"loss": 3.0}, {"loss": 2.0}], "loss").epochs.tolist() == [1, 2]


def test_documents_without_words_have_no_length():
    assert mean_words(csr_array([[3.0, 0], [0, 0], [1, 2], [0, 0]])) == 3
    assert mean_words(csr_array((2, 3))) == mean_words(csr_array((0, 3))) == 0


def test_mistakes_are_answered_with_a_sentence():
    with pytest.raises(ValueError, match="threshold must be a finite number >= 0, got -1"):
        count_used(np.ones(2), -1)
    with pytest.raises(ValueError, match="threshold must be"):
        count_used_directions(Decoder(3, 2), 10, float("nan"))
    with pytest.raises(ValueError, match="num_words must be a finite number >= 0, got -1"):
        count_used_directions(Decoder(3, 2), -1)
    with pytest.raises(ValueError, match="history must have 'used_directions' in the record of an epoch, got 'loss'"):
        utilisation_curve([{"loss": 1.0}])
    with pytest.raises(ValueError, match="got no epochs"):
        utilisation_curve({"epochs": []})
