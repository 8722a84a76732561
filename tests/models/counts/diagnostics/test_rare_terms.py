"""Rare terms and gaps by hand and by brute force, and through a small network."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.sparse import csr_array

from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.diagnostics.rare_terms import (
    count_rare_terms,
    find_rare_terms,
    gaps_between,
    rare_term_gaps,
)
from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.network import CountNetwork
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refinement import Refinement, refine
from gossamer.testing.planted import planted_topics


def random_posterior(rows: int, seed: int) -> Posterior:
    generator = torch.Generator().manual_seed(seed)
    return Posterior(*(torch.randn(rows, 3, generator=generator) for _ in range(2)))


def random_counts(rows: int = 40, terms: int = 15) -> csr_array:
    rng = np.random.default_rng(0)
    return csr_array(rng.poisson(rng.gamma(0.3, 1.5, size=(rows, terms))).astype(np.float32))


def test_a_term_is_rare_when_few_documents_hold_it():
    # Held by 1, 2 and 3 of 4 documents; a stored zero is no occurrence, and five times in one document is one.
    data, columns = np.array([5, 1, 1, 1, 1, 1, 0.0]), np.array([0, 1, 2, 1, 2, 2, 0])
    matrix = csr_array((data, columns, np.array([0, 3, 5, 6, 7])), shape=(4, 3))
    assert find_rare_terms(matrix, 0.5).tolist() == [True, False, False], "fewer than half, not half"
    assert find_rare_terms(matrix, 0.51).tolist() == [True, True, False]
    assert find_rare_terms(csr_array(np.ones((40, 2)))).tolist() == [False, False]
    seven = csr_array((np.arange(100) < 7).astype(np.float32)[:, None])
    assert find_rare_terms(seven, 0.07).tolist() == [False], "7 of 100 is not fewer than 7 %, whatever 0.07 · 100 is"


def test_rare_words_are_counted_each_time_or_once():
    matrix, is_rare = csr_array([[2.0, 1, 0], [0, 5, 0], [0, 0, 3]]), np.array([True, False, True])
    assert count_rare_terms(matrix, is_rare).tolist() == [2, 0, 3]
    assert count_rare_terms(matrix, is_rare, counted="terms").tolist() == [1, 0, 1]


def test_gaps_have_the_rank_correlations_of_their_definition():
    matrix = random_counts()
    is_rare = np.arange(15) % 3 == 0
    first, second = random_posterior(40, 1), random_posterior(40, 2)
    found = gaps_between(first, second, matrix, is_rare)
    dense = matrix.toarray()
    has_words = dense.sum(axis=1) > 0
    normal = [torch.distributions.Normal(q.mean.double(), (q.log_variance.double() / 2).exp()) for q in (first, second)]
    expected = torch.distributions.kl_divergence(*normal).sum(dim=1).numpy()[has_words]
    np.testing.assert_allclose(found.kl, expected, rtol=1e-9)
    np.testing.assert_allclose(found.num_rare, dense[has_words][:, is_rare].sum(axis=1))
    np.testing.assert_allclose(found.lengths, dense[has_words].sum(axis=1))
    assert found.rho == pytest.approx(stats.spearmanr(found.kl, found.num_rare).statistic)
    assert found.rho_length == pytest.approx(stats.spearmanr(found.kl, found.lengths).statistic)
    # The partial correlation is that of what a regression on the ranks of lengths leaves of both ranks.
    ranks = [stats.rankdata(values) for values in (found.kl, found.num_rare, found.lengths)]
    left = [each - np.polyval(np.polyfit(ranks[2], each, 1), ranks[2]) for each in ranks[:2]]
    assert found.rho_given_length == pytest.approx(np.corrcoef(*left)[0, 1])


def test_what_is_all_due_to_length_is_seen_as_such():
    """KL that only grows with length correlates with rare words as well, and not at equal length."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 200, size=2000)
    rare = rng.binomial(lengths, 0.3)
    matrix = csr_array(np.stack([rare, lengths - rare], axis=1).astype(np.float32))
    kl = lengths * rng.uniform(0.9, 1.1, size=2000)
    first = Posterior(torch.tensor(np.sqrt(2 * kl))[:, None], torch.zeros(2000, 1))
    found = gaps_between(first, Posterior(torch.zeros(2000, 1), torch.zeros(2000, 1)), matrix, np.array([True, False]))
    np.testing.assert_allclose(found.kl, kl, rtol=1e-5)
    assert found.rho > 0.9
    assert abs(found.rho_given_length) < 0.1


def test_correlations_that_do_not_exist_are_nan():
    matrix = random_counts()
    first, second = random_posterior(40, 1), random_posterior(40, 2)
    nothing = gaps_between(first, second, matrix, np.zeros(15, dtype=bool))
    assert math.isnan(nothing.rho)
    assert math.isnan(nothing.rho_given_length)
    everything = gaps_between(first, second, matrix, np.ones(15, dtype=bool))
    assert everything.rho == pytest.approx(everything.rho_length)
    assert math.isnan(everything.rho_given_length), "nothing is left beyond length"
    same = gaps_between(first, first, matrix, np.arange(15) < 5)
    assert same.kl.max() == 0
    assert math.isnan(same.rho)
    empty = gaps_between(first, second, csr_array((40, 15)), np.ones(15, dtype=bool))
    assert len(empty.kl) == 0


@pytest.mark.parametrize("hidden_dims", [(), (6,)])
def test_a_network_is_judged_by_what_refinement_moves(hidden_dims):
    matrix = planted_topics(num_documents=20, num_terms=12, words_per_document=15).data.matrix
    network = CountNetwork(Encoder(12, 3, (8,), dropout=0.5), Decoder(12, 3, hidden_dims))
    inputs, settings = matrix.data / 15, Refinement(steps=2)
    is_rare = find_rare_terms(matrix, 0.5)
    found = rare_term_gaps(network, matrix, inputs, settings, is_rare)
    again = rare_term_gaps(network, matrix, inputs, settings, is_rare)
    np.testing.assert_array_equal(found.kl, again.kl)
    batch = take_batch(matrix, inputs, np.arange(20))
    network.eval()
    with torch.no_grad():
        start = network.encoder(batch)
    expected = start.kl_to(refine(network.decoder, batch, start, settings, torch.Generator()))
    np.testing.assert_allclose(found.kl, expected.numpy(), rtol=1e-3, atol=1e-5)
    assert found.kl.max() > 0


def test_mistakes_are_answered_with_a_sentence():
    matrix, posterior = random_counts(4, 3), random_posterior(4, 0)
    with pytest.raises(ValueError, match="share must be a finite number > 0 and <= 1, got 0"):
        find_rare_terms(matrix, 0)
    with pytest.raises(ValueError, match="training must have at least one document, got 0"):
        find_rare_terms(csr_array((0, 3)))
    with pytest.raises(ValueError, match=r"is_rare must say of each of 3 terms, got shape \(2,\)"):
        count_rare_terms(matrix, np.ones(2, dtype=bool))
    with pytest.raises(ValueError, match="counted must be one of 'tokens', 'terms', got 'words'"):
        count_rare_terms(matrix, np.ones(3, dtype=bool), counted="words")
    with pytest.raises(ValueError, match="posteriors must be those of 4 documents, got 4 and 5"):
        gaps_between(posterior, random_posterior(5, 0), matrix, np.ones(3, dtype=bool))
    with pytest.raises(ValueError, match="network must have an encoder"):
        rare_term_gaps(CountNetwork(None, Decoder(3, 2)), matrix, matrix.data, Refinement(), np.ones(3, dtype=bool))
