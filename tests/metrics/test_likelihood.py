"""Perplexities against their definitions, one document at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.metrics.likelihood import perplexity_per_document, perplexity_per_token

DOCUMENTS = st.lists(st.tuples(st.floats(-500, 0), st.integers(1, 1000)), min_size=1, max_size=10)


@given(DOCUMENTS)
def test_perplexities_follow_their_definitions(documents):
    log_probs, num_tokens = np.array([d[0] for d in documents]), np.array([d[1] for d in documents])
    per_document = sum(-log_prob / tokens for log_prob, tokens in documents) / len(documents)
    per_token = -sum(d[0] for d in documents) / sum(d[1] for d in documents)
    assert perplexity_per_document(log_probs, num_tokens) == pytest.approx(math.exp(per_document))
    assert perplexity_per_token(log_probs, num_tokens) == pytest.approx(math.exp(per_token))


@given(st.lists(st.integers(1, 50), min_size=1), st.integers(1, 2000))
def test_uniform_model_has_the_vocabulary_as_perplexity(lengths, vocabulary_size):
    num_tokens = np.array(lengths)
    log_probs = -num_tokens * math.log(vocabulary_size)
    assert perplexity_per_document(log_probs, num_tokens) == pytest.approx(vocabulary_size)
    assert perplexity_per_token(log_probs, num_tokens) == pytest.approx(vocabulary_size)


def test_conventions_differ_when_short_documents_are_harder():
    log_probs, num_tokens = np.array([-10.0, -100.0]), np.array([1, 100])
    assert perplexity_per_document(log_probs, num_tokens) == pytest.approx(math.exp(5.5))
    assert perplexity_per_token(log_probs, num_tokens) == pytest.approx(math.exp(110 / 101))


def test_impossible_document_and_overflow_are_infinite():
    assert perplexity_per_document(np.array([-np.inf, -1.0]), np.array([1, 1])) == np.inf
    assert perplexity_per_token(np.array([-1e6]), np.array([1])) == np.inf


@pytest.mark.parametrize("metric", [perplexity_per_document, perplexity_per_token])
@pytest.mark.parametrize(
    ("log_probs", "num_tokens", "message"),
    [
        (np.zeros(2), np.ones(3), r"as long as num_tokens, got \(2,\) and \(3,\)"),
        (np.zeros(0), np.ones(0), "not empty"),
        (np.array([np.nan]), np.ones(1), "log_probs must be finite or -inf, got nan"),
        (np.array([np.inf]), np.ones(1), "log_probs must be finite or -inf, got inf"),
        (np.zeros(1), np.array([0]), r"num_tokens must be > 0 \(leave empty documents out\), got 0"),
        (np.zeros(1), np.array([-3]), "num_tokens must be > 0 .*, got -3"),
        (np.zeros(1), np.array([np.nan]), "num_tokens must be > 0 .*, got nan"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_mistakes_are_answered_with_a_sentence(metric, log_probs, num_tokens, message):
    with pytest.raises(ValueError, match=message):
        metric(log_probs, num_tokens)
