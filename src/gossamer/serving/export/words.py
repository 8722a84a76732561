"""Texts as an input of a graph: padded lists of word numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.serving.export.graph import Graph, Value


@dataclass(frozen=True)
class Words:
    """B texts of at most T words, -1 after the last one, and how many words each has (B,)."""

    numbers: Value
    lengths: Value


def read_words(graph: Graph, max_length: int) -> Words:
    """Add the input "words" (B, T); what comes after `max_length` words is not read, as in the model."""
    given = graph.input("words", np.int64, "batch", "length").part(0, max_length, axis=1)
    return Words(given, (given >= 0).cast(np.int64).sum(1))


def pad_words(words: Words, count: int) -> Value:
    """Return the word numbers with `count` more columns of -1."""
    return words.numbers.graph.op("Pad", words.numbers, np.array([0, count]), np.int64(-1), np.array([1]))
