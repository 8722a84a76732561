from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, sparse, stats
from scipy.special import digamma, gammaln

from gossamer.metrics import topic_likelihood
from gossamer.metrics.topic_likelihood import lda_bounds
from gossamer.testing.planted import planted_topics

TOPICS = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
PRIOR = np.array([0.6, 1.3])
COUNTS = sparse.csr_array([[3, 0, 1], [0, 0, 0], [0, 2, 2], [9, 4, 8]])


def exact_log_likelihood(counts: np.ndarray) -> float:
    """log ∫ Dirichlet(θ) Π_v (θ·β_v)^{x_v} dθ by quadrature over two topics."""

    def integrand(share: float) -> float:
        probs = share * TOPICS[0] + (1 - share) * TOPICS[1]
        return float(stats.beta.pdf(share, *PRIOR) * np.prod(probs**counts))

    return float(np.log(integrate.quad(integrand, 0, 1, epsabs=0, epsrel=1e-9, limit=200)[0]))


def test_bounds_are_below_the_likelihood_and_near_it():
    bounds = lda_bounds(COUNTS, TOPICS, PRIOR)
    exact = np.array([exact_log_likelihood(row) for row in COUNTS.toarray()])
    assert bounds[1] == pytest.approx(0, abs=1e-9)
    assert (bounds <= exact + 1e-9).all()
    assert (exact - bounds <= 0.7).all()


def test_one_topic_is_a_unigram_model():
    probs = np.array([[0.5, 0.3, 0.2]])
    np.testing.assert_allclose(lda_bounds(COUNTS, probs, np.array([0.4])), COUNTS @ np.log(probs[0]), rtol=1e-9)


def test_more_iterations_never_hurt():
    data = planted_topics(num_documents=20)
    prior = np.full(4, 0.2)
    runs = [lda_bounds(data.data.matrix, data.topics, prior, max_iterations=n, tolerance=1e-9) for n in (1, 3, 30)]
    assert (np.diff(runs, axis=0) >= -1e-9).all()


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch):
    data = planted_topics(num_documents=7)
    prior = np.full(4, 0.2)
    whole = lda_bounds(data.data.matrix, data.topics, prior, max_iterations=20, tolerance=1e-12)
    for size in (1, 300):
        monkeypatch.setattr(topic_likelihood, "NUMBERS_AT_ONCE", size)
        np.testing.assert_allclose(
            lda_bounds(data.data.matrix, data.topics, prior, max_iterations=20, tolerance=1e-12), whole, rtol=1e-9
        )


def test_a_word_that_no_topic_has_is_impossible():
    topics = np.array([[1.0, 0.0], [1.0, 0.0]])
    bounds = lda_bounds(sparse.csr_array([[1, 1], [2, 0]]), topics, np.ones(2))
    assert bounds[0] == -np.inf
    assert np.isfinite(bounds[1])


def test_few_words_and_many_topics_do_not_underflow():
    # exp(E log θ) of 2,000 topics that share one word is below the smallest float; equal topics are a unigram model.
    topics = np.tile([0.25, 0.75], (2000, 1))
    bounds = lda_bounds(sparse.csr_array([[1, 0], [0, 2]]), topics, np.full(2000, 1e-4))
    assert np.isfinite(bounds).all()
    assert (bounds <= np.log([0.25, 0.75**2]) + 1e-9).all()


def test_a_stored_zero_of_an_impossible_word_is_no_word():
    stored = sparse.csr_array((np.array([2.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    topics = np.array([[1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(lda_bounds(stored, topics, np.ones(2)), lda_bounds([[2.0, 0.0]], topics, np.ones(2)))
    assert stored.nnz == 2, "the caller's matrix stays as it was"


def test_the_bound_is_the_expected_log_joint_and_the_entropy_written_out():
    """E_q[log p(θ) + log p(z | θ) + log p(w | z)] + H(q(θ)) + H(q(z)) at the best q, word by word."""
    counts, iterations = np.array([3, 0, 1]), 400
    gamma = PRIOR + counts.sum() / 2
    words = np.repeat(np.arange(3), counts)
    for _ in range(iterations):
        expected = digamma(gamma) - digamma(gamma.sum())
        shares = np.exp(expected)[:, None] * TOPICS[:, words]
        shares /= shares.sum(axis=0)
        gamma = PRIOR + shares.sum(axis=1)
    expected = digamma(gamma) - digamma(gamma.sum())
    log_prior = gammaln(PRIOR.sum()) - gammaln(PRIOR).sum() + ((PRIOR - 1) * expected).sum()
    joint = (shares * (expected[:, None] + np.log(TOPICS[:, words]) - np.log(shares))).sum()
    written_out = log_prior + joint + stats.dirichlet.entropy(gamma)
    found = lda_bounds(counts[None], TOPICS, PRIOR, max_iterations=1000, tolerance=1e-12)
    assert found[0] == pytest.approx(written_out, rel=1e-7)


def test_nothing_in_nothing_out():
    assert lda_bounds(COUNTS[:0], TOPICS, PRIOR).shape == (0,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topics": TOPICS[:, :2]}, r"topics must have a column per term \(3\), got 2"),
        ({"topics": 2 * TOPICS}, r"topics must be >= 0 and sum to 1, got sums from [12].* to 2.0"),
        ({"topics": TOPICS - [[0.2, 0, -0.2]]}, r"topics must be >= 0 and sum to 1"),
        ({"prior": np.array([1.0, 0.0])}, r"prior must be 2 finite numbers > 0, got \[1. 0.\]"),
        ({"counts": -COUNTS}, r"counts must be finite and >= 0"),
        ({"max_iterations": 0}, r"max_iterations must be an integer >= 1, got 0"),
        ({"tolerance": 0.0}, r"tolerance must be a finite number > 0, got 0.0"),
    ],
)
def test_bad_arguments_are_named(change: dict, message: str):
    with pytest.raises(ValueError, match=message):
        lda_bounds(**{"counts": COUNTS, "topics": TOPICS, "prior": PRIOR} | change)
