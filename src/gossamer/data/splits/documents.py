"""Splits of documents: at random, in order, or into the parts they were published in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool

from gossamer.core.checks import check_real
from gossamer.core.randomness import RandomState
from gossamer.data.parts import UNKNOWN_WORD, Parts, over_words, training_words
from gossamer.data.sentences import Sentences
from gossamer.data.splits.parts import check_fractions, check_sizes, cut_points, seed_of
from gossamer.data.splits.random import Rowwise, split_rows

VALID_FRACTION = 0.1


def split_documents(
    container: Rowwise, fractions: Sequence[float] = (0.8, 0.1, 0.1), *, random_state: RandomState = 0
) -> Parts:
    """Split documents into train, valid and test (or train and test, for two fractions).

    Documents are drawn at random, class by class where every class is large enough to be in all parts. Sentences
    without classes are a running text, and cut in their order. Labelled sentences that are also in the test part are
    dropped from the others, and the vocabulary becomes that of the training sentences.

    >>> from gossamer.data.vocabulary import Vocabulary
    >>> parts = split_documents(Sentences(np.arange(10) % 2, np.arange(11), Vocabulary(["ham", "eggs"])))
    >>> len(parts.train), len(parts.valid), len(parts.test), parts.description["drawn"]
    (8, 1, 1, 'in order')
    """
    fractions = check_fractions(fractions)
    pieces, drawn = _cut(container, fractions, random_state)
    train, valid, test = pieces if len(pieces) == 3 else (pieces[0], None, pieces[1])
    settings = {"fractions": list(fractions), "seed": seed_of(random_state), "drawn": drawn}
    return _finished("rows", settings, train, valid, test)


def split_given(given: Parts, valid_fraction: float | None = None, *, random_state: RandomState = 0) -> Parts:
    """Keep the parts in which documents were published; where none is for validation, draw it from training.

    `valid_fraction` (0.1 when None) is how much is drawn, as `split_documents` draws it; 0 is for models that choose by
    cross-validation inside the training part. Repeated documents and the vocabulary are as there, too;
    `given.description` may say under "dropped_repeats" how many are gone already.
    """
    dropped = given.description.get("dropped_repeats", 0)
    if given.valid is not None:
        if valid_fraction is not None:
            raise ValueError(f"valid_fraction must be left out for data with a validation part, got {valid_fraction!r}")
        return _finished("given", {}, given.train, given.valid, given.test, dropped)
    fraction = VALID_FRACTION if valid_fraction is None else valid_fraction
    fraction = check_real("valid_fraction", fraction, at_least=0, below=1)
    if fraction == 0:
        return _finished("given", {"valid_fraction": fraction}, given.train, None, given.test, dropped)
    (train, valid), drawn = _cut(given.train, check_fractions((1 - fraction, fraction)), random_state)
    settings = {"valid_fraction": fraction, "seed": seed_of(random_state), "drawn": drawn}
    return _finished("given", settings, train, valid, given.test, dropped)


def find_repeats(texts: Sequence[str], test: Sequence[str]) -> Bool[np.ndarray, " n"]:
    """Say which texts are also in `test`, letter by letter: case, spaces and punctuation do not count.

    >>> find_repeats(["Wi-Fi, again", "eggs"], ["wifi again!"]).tolist()
    [True, False]
    """
    seen = {letters for text in test if (letters := _letters(text))}
    return np.array([_letters(text) in seen for text in texts], dtype=bool)


def _without_repeats(container: Sentences, test: Sentences) -> Sentences:
    """Drop what is also in the test part; in a running text, which has no classes, sentences repeat by nature."""
    if container.labels is None:
        return container
    return container[~find_repeats(_known_texts(container), _known_texts(test))]


def _known_texts(sentences: Sentences) -> list[str]:
    """Return every sentence as text; nothing for one with unknown words, of which nobody can say what it repeats."""
    words = list(map(str, sentences.vocabulary))
    tokens, rows = sentences.tokens.tolist(), pairwise(sentences.offsets.tolist())
    texts = (" ".join([words[token] for token in tokens[start:stop]]) for start, stop in rows)
    return ["" if UNKNOWN_WORD in text else text for text in texts]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _cut(container: Any, fractions: Sequence[float], random_state: RandomState) -> tuple[tuple[Any, ...], str]:
    labels = getattr(container, "labels", None)
    if isinstance(container, Sentences) and labels is None:
        bounds = [0, *cut_points(len(container), fractions).tolist(), len(container)]
        check_sizes(np.diff(bounds).tolist(), "sentences")
        return tuple(container[start:stop] for start, stop in pairwise(bounds)), "in order"
    # A class needs one row in the smallest part at least; others would be rounded away.
    is_by_class = labels is not None and np.unique(labels, return_counts=True)[1].min() * min(fractions) >= 1
    pieces = split_rows(container, fractions, random_state=random_state, stratify=is_by_class)
    return pieces, "by class" if is_by_class else "at random"


def _finished(kind: str, settings: dict[str, Any], train: Any, valid: Any | None, test: Any, dropped: int = 0) -> Parts:
    """Describe the parts; sentences first lose repeats (`dropped` are gone already) and words unknown to training."""
    held = {"train": train} if valid is None else {"train": train, "valid": valid}
    sizes = {}
    if isinstance(train, Sentences):
        kept = {name: _without_repeats(part, test) for name, part in held.items()}
        dropped += sum(len(held[name]) - len(kept[name]) for name in held)
        if len(kept["train"]) == 0:
            raise ValueError(f"documents must differ, got {len(train)} of training that are all in the test part, too")
        words = training_words(kept["train"])
        held, test = {name: over_words(part, words) for name, part in kept.items()}, over_words(test, words)
        sizes = {"dropped_repeats": dropped, "num_words": len(words)}
    sizes |= {f"{name}_rows": len(part) for name, part in {**held, "test": test}.items()}
    return Parts(held["train"], held.get("valid"), test, {"kind": kind, **settings, **sizes})
