"""Raw texts as counts or as sentences: tokens, vocabularies and class labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from jaxtyping import Int32
from scipy import sparse

from gossamer.core.checks import check_int
from gossamer.data.counts import Counts
from gossamer.data.sentences import Sentences
from gossamer.data.share import Gather, alone
from gossamer.data.vocabulary import Vocabulary

Tokenizer = Callable[[str], Sequence[str]]


def count_words(
    texts: Iterable[str],
    *,
    max_terms: int | None = None,
    min_documents: int = 1,
    pattern: str = r"[a-z]+",
    lowercase: bool = True,
    vocabulary: Vocabulary | None = None,
    labels: Sequence[str] | Sequence[int] | None = None,
    gather: Gather = alone,
) -> Counts:
    """Count the words of each text.

    A word is a match of `pattern`, in the lower-cased text unless `lowercase` is off. Terms are the `max_terms`
    most frequent words that occur in at least `min_documents` texts, most frequent first and equal ones in
    alphabetical order; a given `vocabulary` replaces that choice and words outside it are not counted. `labels`
    are one class per text, by name or number. Where processes have divided the texts among them, `gather` lets them
    agree: terms and classes are then those of all texts.

    >>> data = count_words(["Ham and eggs", "eggs, eggs!"], max_terms=2)
    >>> list(data.terms), data.matrix.toarray().tolist()
    (['eggs', 'and'], [[1.0, 1.0], [2.0, 0.0]])
    """
    word = _compiled(pattern)
    bags = [Counter(word.findall(text.lower() if lowercase else text)) for text in _checked_texts(texts)]
    if vocabulary is None:
        vocabulary = _frequent_terms(bags, max_terms, min_documents, gather)
    place = {term: index for index, term in enumerate(vocabulary)}
    rows, columns, values = [], [], []
    for row, bag in enumerate(bags):
        known = [(place[term], count) for term, count in bag.items() if term in place]
        rows += [row] * len(known)
        columns += [column for column, _ in known]
        values += [count for _, count in known]
    matrix = sparse.csr_array(
        (np.array(values, dtype=np.float32), (np.array(rows, dtype=np.int32), np.array(columns, dtype=np.int32))),
        shape=(len(bags), len(vocabulary)),
    )
    codes, names = _encode_together(labels, gather)
    return Counts(matrix, vocabulary, labels=codes, label_names=names)


def build_sentences(
    texts: Iterable[str],
    *,
    vocabulary: Vocabulary | None = None,
    max_words: int | None = None,
    min_count: int = 1,
    unknown: str | None = "<unk>",
    end: str | None = None,
    tokenizer: Tokenizer = str.split,
    labels: Sequence[str] | Sequence[int] | None = None,
    gather: Gather = alone,
) -> Sentences:
    """Turn texts into ragged rows of word numbers; a text without words is an empty sentence.

    The vocabulary is given, or built: `unknown` and `end` where they are not None, then the words that occur at
    least `min_count` times, most frequent first and equal ones in alphabetical order, `max_words` in all at most.
    A word outside it becomes `unknown`, or is an error where `unknown` is None or not in a given vocabulary. `end`
    is put behind every sentence. Where processes have divided the texts among them, `gather` lets them agree: words
    and classes are then those of all texts.

    >>> data = build_sentences(["a b a", "a c"], max_words=2)
    >>> list(data.vocabulary), data.words(1)
    (['<unk>', 'a'], ['a', '<unk>'])
    """
    ending = [] if end is None else [end]
    rows = [[*tokenizer(text), *ending] for text in _checked_texts(texts)]
    if vocabulary is None:
        totals = _add_up(gather(Counter(word for row in rows for word in row)))
        vocabulary = _frequent_words(totals, max_words, min_count, unknown, end)
    place = {word: index for index, word in enumerate(vocabulary)}
    fallback = -1 if unknown is None else place.get(unknown, -1)
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    tokens = np.fromiter((place.get(word, fallback) for row in rows for word in row), np.int32, count=int(offsets[-1]))
    if len(tokens) and tokens.min() < 0:
        position = int(tokens.argmin())
        row = int(np.searchsorted(offsets, position, side="right")) - 1
        raise ValueError(
            f"texts must consist of the {len(vocabulary)} known words, got {rows[row][position - offsets[row]]!r} in "
            f"text {row} (counted from 0); put {unknown or '<unk>'!r} into the vocabulary for unknown ones"
        )
    codes, names = _encode_together(labels, gather)
    return Sentences(tokens, offsets, vocabulary, codes, names)


def split_words(text: str) -> list[str]:
    """Return lower-case words, numbers and single punctuation marks.

    >>> split_words("It's 9 o'clock.")
    ['it', "'", 's', '9', 'o', "'", 'clock', '.']
    """
    return re.findall(r"[^\W_]+|[^\w\s]", text.lower())


def encode_labels(
    values: Sequence[str], classes: Sequence[str] | None = None
) -> tuple[Int32[np.ndarray, " n"], tuple[str, ...]]:
    """Return class numbers and class names; classes are sorted, as numbers where all are, unless they are given.

    >>> codes, names = encode_labels(["10", "9", "10"])
    >>> codes.tolist(), names
    ([1, 0, 1], ('9', '10'))
    """
    names = tuple(classes) if classes is not None else _sorted_classes(set(values))
    place = {name: index for index, name in enumerate(names)}
    unknown = next((value for value in values if value not in place), None)
    if unknown is not None:
        raise ValueError(f"labels must be among the {len(names)} given classes, got {unknown!r}")
    return np.array([place[value] for value in values], dtype=np.int32), names


def _sorted_classes(found: set[str]) -> tuple[str, ...]:
    try:
        return tuple(sorted(found, key=lambda name: (float(name), name)))
    except ValueError:
        return tuple(sorted(found))


def _checked_texts(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise ValueError(f"texts must be a sequence of texts, got one text {texts[:40]!r}")
    checked = list(texts)
    wrong = next((row for row, text in enumerate(checked) if not isinstance(text, str)), None)
    if wrong is not None:
        raise ValueError(f"texts must be strings, got {checked[wrong]!r} at row {wrong}")
    return checked


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as fault:
        raise ValueError(f"pattern must be a regular expression, got {pattern!r} ({fault})") from None
    if compiled.groups > 1:
        raise ValueError(f"pattern must have at most one group, got {pattern!r} with {compiled.groups}")
    return compiled


def _encode_together(
    labels: Sequence[str] | Sequence[int] | None, gather: Gather
) -> tuple[np.ndarray | None, tuple[str, ...] | None]:
    """Return class numbers and the names of all processes' classes; nothing where there are none."""
    if labels is None:
        return None, None
    names = [str(label) for label in labels]
    return encode_labels(names, _sorted_classes(set().union(*gather(set(names)))))


def _add_up(counters: Sequence[Counter[str]]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for counter in counters:
        totals.update(counter)
    return totals


def _frequent_terms(
    bags: Sequence[Counter[str]], max_terms: int | None, min_documents: int, gather: Gather
) -> Vocabulary:
    check_int("min_documents", min_documents, at_least=1)
    limit = None if max_terms is None else check_int("max_terms", max_terms, at_least=1)
    own = _add_up(bags), Counter(term for bag in bags for term in bag)
    totals, documents = (_add_up(found) for found in zip(*gather(own), strict=True))
    kept = [term for term in totals if documents[term] >= min_documents]
    return Vocabulary(sorted(kept, key=lambda term: (-totals[term], term))[:limit])


def _frequent_words(
    totals: Counter[str], max_words: int | None, min_count: int, unknown: str | None, end: str | None
) -> Vocabulary:
    check_int("min_count", min_count, at_least=1)
    special = list(dict.fromkeys(word for word in (unknown, end) if word is not None))
    limit = None if max_words is None else check_int("max_words", max_words, at_least=len(special) + 1)
    kept = sorted((word for word in totals if totals[word] >= min_count), key=lambda word: (-totals[word], word))
    return Vocabulary([*special, *(word for word in kept if word not in special)][:limit])
