from __future__ import annotations

import logging

import numpy as np
import pytest
from tiny_sentences import few_sentences

from gossamer.data.text import build_sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.spikeslab.sentences import check_training, over_known_words


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(ValueError, match="data must be Sentences, got list"):
        check_training(["a b"])
    with pytest.raises(ValueError, match="data must have at least one sentence, got none"):
        check_training(few_sentences()[:0])
    with pytest.raises(ValueError, match="vocabulary of at least 2 words, got 1; with one word only lengths differ"):
        check_training(build_sentences(["a a", "a"], unknown=None))
    with pytest.raises(ValueError, match="vocabulary of at least 2 words, got 1; with one word only lengths differ"):
        check_training(build_sentences(["a", "a a"]))  # <unk> is in the vocabulary and stands nowhere
    check_training(build_sentences(["a", "a b"], vocabulary=Vocabulary(["<unk>", "a"])))  # here it stands for b
    with pytest.raises(ValueError, match="data must have at least one word, got 2 empty sentences"):
        check_training(build_sentences(["", ""], vocabulary=Vocabulary(["a", "b"]), unknown=None))


def test_unknown_words_and_long_sentences_are_counted_and_said(caplog):
    words = Vocabulary(["<unk>", "a", "b"])
    with caplog.at_level(logging.WARNING):
        known = over_known_words(build_sentences(["a z b", "a"], unknown=None), words, 2)
    assert known.sentences.words(0) == ["a", "<unk>", "b"]
    assert known.unknown == pytest.approx(1 / 4)
    assert known.truncated == 0.5
    assert "1 of 4 words of data are not in the vocabulary and become <unk>" in caplog.text
    assert "1 of 2 sentences of data are cut after 2 words" in caplog.text


def test_without_an_unknown_word_they_are_left_out(caplog):
    with caplog.at_level(logging.WARNING):
        known = over_known_words(build_sentences(["a z", "z"], unknown=None), Vocabulary(["a", "b"]), 9, "validation")
    np.testing.assert_array_equal(known.sentences.lengths, [1, 0])
    assert "2 of 3 words of validation are not in the vocabulary and are left out" in caplog.text


def test_nothing_is_said_where_there_is_nothing_to_say(caplog):
    data = few_sentences()
    known = over_known_words(data, data.vocabulary, 9)
    assert (known.truncated, known.unknown, caplog.text) == (0, 0, "")
