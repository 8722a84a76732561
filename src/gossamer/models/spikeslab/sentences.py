"""Checks of what comes in: sentences over the words of training, what is cut off and what is not known counted."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from gossamer.data.parts import UNKNOWN_WORD, over_words
from gossamer.data.sentences import Sentences
from gossamer.data.vocabulary import Vocabulary

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Known:
    """Sentences over a model's words, and which share of sentences is too long and of words unknown."""

    sentences: Sentences
    truncated: float
    unknown: float


def check_sentences(data: Any, name: str = "data") -> Sentences:
    """Return `data`, or say that they are not Sentences, or that there are none."""
    if not isinstance(data, Sentences):
        raise ValueError(f"{name} must be Sentences, got {type(data).__name__}")
    if len(data) == 0:
        raise ValueError(f"{name} must have at least one sentence, got none")
    return data


def check_training(data: Any) -> Sentences:
    """Return `data`, or say why nothing can be learned from them."""
    sentences = check_sentences(data)
    num_words = len(sentences.vocabulary)
    unknown = sentences.vocabulary.find([UNKNOWN_WORD])[0]
    if unknown >= 0 and not (sentences.tokens == unknown).any():
        num_words -= 1  # it is there for sentences to come, and stands nowhere
    if num_words < 2:
        raise ValueError(
            f"data must have a vocabulary of at least 2 words, got {num_words}; with one word only lengths differ"
        )
    if len(sentences.tokens) == 0:
        raise ValueError(f"data must have at least one word, got {len(sentences)} empty sentences")
    return sentences


def over_known_words(data: Any, words: Vocabulary, max_length: int, name: str = "data") -> Known:
    """Return sentences over `words`; others become `<unk>`, or go where there is none, and the log says how many."""
    given = check_sentences(data, name)
    sentences = over_words(given, words)
    counts = np.bincount(given.tokens, minlength=len(given.vocabulary))
    is_new = (words.find(given.vocabulary.ids) < 0) if given.vocabulary != words else np.zeros(len(words), dtype=bool)
    num_unknown = int(counts[is_new].sum())
    if num_unknown:
        fate = f"become {UNKNOWN_WORD}" if UNKNOWN_WORD in words else "are left out"
        logger.warning("%d of %d words of %s are not in the vocabulary and %s", num_unknown, counts.sum(), name, fate)
    return Known(sentences, count_truncated(sentences, max_length, name), num_unknown / max(1, int(counts.sum())))


def count_truncated(sentences: Sentences, max_length: int, name: str = "data") -> float:
    """Return the share of sentences that are longer than the limit; the log says how many, if any."""
    num_long = int((sentences.lengths > max_length).sum())
    if num_long:
        logger.warning("%d of %d sentences of %s are cut after %d words", num_long, len(sentences), name, max_length)
    return num_long / max(1, len(sentences))
