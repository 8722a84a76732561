"""Documents divided into training, validation and test: the twin of `Split` for everything that has no users."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gossamer.data.counts import Counts
from gossamer.data.sentences import Sentences
from gossamer.data.share import Gather, alone
from gossamer.data.shown import ShownParts
from gossamer.data.vocabulary import Vocabulary

UNKNOWN_WORD = "<unk>"


@dataclass(frozen=True)
class Parts(ShownParts):
    """Three containers of one kind over the same words; `valid` may be missing, and `test` may have no rows.

    `description` says how they were made, for the result record.

    >>> data = Sentences(np.array([0, 1]), np.array([0, 1, 2]), Vocabulary(["ham", "eggs"]))
    >>> len(Parts(data[:1], None, data[1:]).test)
    1
    """

    train: Any
    valid: Any | None
    test: Any
    description: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, part in (("valid", self.valid), ("test", self.test)):
            if part is None and name == "valid":
                continue
            if type(part) is not type(self.train):
                raise ValueError(f"{name} must be {type(self.train).__name__}, as train is, got {type(part).__name__}")
            if _names(part) != _names(self.train):
                raise ValueError(f"{name} must have the words and classes of train, got others")

    def __len__(self) -> int:
        return sum(len(part) for part in (self.train, self.valid, self.test) if part is not None)

    def describe(self) -> dict[str, Any]:
        """Return the numbers of the training part, and how many rows the other parts have."""
        sizes = {} if self.valid is None else {"valid_rows": len(self.valid)}
        return {**self.train.describe(), **sizes, "test_rows": len(self.test)}

    def fingerprint(self) -> str:
        """Return a SHA-256 of all parts."""
        parts = (self.train, self.valid, self.test)
        return hashlib.sha256(
            ";".join("" if part is None else part.fingerprint() for part in parts).encode()
        ).hexdigest()


def over_words(sentences: Sentences, words: Vocabulary) -> Sentences:
    """Return the same sentences over another vocabulary; other words become `<unk>`, or go where it has none.

    >>> data = Sentences(np.array([0, 1]), np.array([0, 2]), Vocabulary(["ham", "eggs"]))
    >>> over_words(data, Vocabulary(["<unk>", "eggs"])).words(0), over_words(data, Vocabulary(["eggs"])).words(0)
    (['<unk>', 'eggs'], ['eggs'])
    """
    if sentences.vocabulary == words:
        return sentences
    place = words.find(sentences.vocabulary.ids).copy()
    place[place < 0] = words.find([UNKNOWN_WORD])[0]
    tokens = place[sentences.tokens]
    known = np.concatenate([[0], np.cumsum(tokens >= 0)])
    return replace(sentences, tokens=tokens[tokens >= 0], offsets=known[sentences.offsets], vocabulary=words)


def training_words(train: Sentences, gather: Gather = alone) -> Vocabulary:
    """Return the words that occur in the training sentences, in their old order, with `<unk>` where there is one.

    Where processes have divided the sentences among them, `gather` makes them those of all.
    """
    used = np.logical_or.reduce(gather(np.bincount(train.tokens, minlength=len(train.vocabulary)) > 0))
    unknown = train.vocabulary.find([UNKNOWN_WORD])[0]
    if unknown >= 0:
        used[unknown] = True
    return train.vocabulary.take(np.flatnonzero(used))


def _names(part: Any) -> tuple[Any, ...]:
    """Return what parts must share for their numbers to mean the same."""
    words = part.vocabulary if isinstance(part, Sentences) else part.terms if isinstance(part, Counts) else None
    names = getattr(part, "label_names", None)
    return words, None if names is None else tuple(names)
