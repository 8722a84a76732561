from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gossamer.data.text import build_sentences
from gossamer.models.embeddings.text.language_model import AnchorLanguageModel
from gossamer.testing.contracts import two_topics

SMALL = {"embedding_dim": 12, "hidden_dim": 12, "num_layers": 1, "batch_size": 4, "num_steps": 8, "dropout": 0.0}


@pytest.fixture(scope="module")
def fitted() -> AnchorLanguageModel:
    settings = {**SMALL, "epochs": 30, "learning_rate": 0.03, "num_samples": 8}
    return AnchorLanguageModel(num_anchors=5, num_slots=4, ratio=1.5, **settings).fit(two_topics().train)


def test_planted_order_of_words_is_learned(fitted: AnchorLanguageModel):
    parts = two_topics()
    frequencies = np.bincount(parts.train.tokens) / len(parts.train.tokens)
    by_frequency = np.exp(-np.log(frequencies[parts.test.tokens]).mean())
    assert fitted.evaluate(parts.test)["perplexity"] < by_frequency / 2
    assert fitted.num_values() <= len(parts.train.vocabulary) * 12 / 1.5
    assert fitted.num_bytes() >= 4 * fitted.num_values()


def test_perplexity_is_that_of_the_likelihood(fitted: AnchorLanguageModel):
    test = two_topics().test
    likelihood = fitted.log_likelihood(test)
    assert likelihood.shape == (len(test),)
    expected = np.exp(-likelihood.sum() / len(test.tokens))
    assert fitted.evaluate(test)["perplexity"] == pytest.approx(expected)


def test_a_nonsense_sentence_is_less_likely(fitted: AnchorLanguageModel):
    texts = ["a1 and a2 and a3 .", "a1 a1 . and and b3"]
    likely, nonsense = (fitted.log_likelihood(build_sentences([text], unknown=None))[0] for text in texts)
    assert likely > nonsense + 3


def test_samples_look_like_the_text(fitted: AnchorLanguageModel):
    drawn = fitted.sample(20, random_state=0, max_length=12)
    assert drawn.lengths.max() <= 12
    words = [drawn.words(row) for row in range(len(drawn))]
    followed = [pair for row in words for pair in pairwise(row) if pair[0] == "and"]
    assert np.mean([str(after)[0] in "ab" for _, after in followed]) > 0.8


def test_data_without_words_are_refused(fitted: AnchorLanguageModel):
    empty = build_sentences([""], unknown=None)
    with pytest.raises(ValueError, match=r"data must have at least one token, got Sentences"):
        AnchorLanguageModel().fit(empty)
    with pytest.raises(ValueError, match=r"data must have at least one word the model knows, got Sentences"):
        fitted.evaluate(empty)
    with pytest.raises(ValueError, match=r"max_length must be an integer >= 1, got 0"):
        fitted.sample(1, max_length=0)
