"""Counts from svmlight files and sentences from lines of text."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from gossamer.core.checks import check_int
from gossamer.data.counts import Counts
from gossamer.data.sentences import Sentences
from gossamer.data.text import Tokenizer, build_sentences, encode_labels
from gossamer.data.text_files import FilePath, file_name, read_lines
from gossamer.data.vocabulary import Vocabulary

LARGEST_INDEX = 2**31 - 2
LARGEST_COUNT = float(np.finfo(np.float32).max)


def read_counts(
    source: FilePath,
    *,
    vocabulary: Vocabulary | FilePath | None = None,
    num_terms: int | None = None,
    first_index: int = 1,
    classes: Sequence[str] | Sequence[int] | None = None,
    encoding: str = "utf-8",
) -> Counts:
    """Read an svmlight or `.feat` file: one document per line, `label index:count index:count …`.

    `first_index` says whether the file counts terms from 1 (svmlight, NVDM) or from 0. `vocabulary` names the
    terms: a `Vocabulary`, or a file with one term per line (what follows a term on its line is ignored); without
    it the terms are numbered and `num_terms` may fix how many there are. An index that is repeated within a line
    adds up, a line may have no terms, and the label may be missing, in all lines or in none. Labels are one class
    per document; `classes` fixes their order, which keeps class numbers equal in train and test files.
    """
    check_int("first_index", first_index, at_least=0, at_most=1)
    name = file_name(source)
    indices, values, offsets, labels = array("i"), array("d"), array("q", [0]), []
    for number, line in read_lines(source, encoding=encoding):
        tokens = line.split("#", 1)[0].split()
        if not tokens:
            continue
        if ":" not in tokens[0]:
            labels.append(_checked_label(f"{name}, line {number}", tokens.pop(0)))
        elif labels:
            raise ValueError(f"{name}, line {number} must begin with a label as the lines before it, got {tokens[0]!r}")
        try:
            for token in tokens:
                index, value = _parse_pair(token, first_index)
                indices.append(index)
                values.append(value)
        except ValueError as fault:
            raise ValueError(f"{name}, line {number} {fault}") from None
        offsets.append(len(indices))
    documents = len(offsets) - 1
    if not documents:
        raise ValueError(f"{name} must have at least one document, got none")
    if labels and len(labels) != documents:
        raise ValueError(f"{name} must have a label on every line or on none, got {len(labels)} for {documents} lines")
    terms = _terms(name, vocabulary, num_terms, max(indices, default=-1) + 1)
    matrix = sparse.csr_array(
        (np.array(values, dtype=np.float32), np.array(indices, dtype=np.int32), np.array(offsets)),
        shape=(documents, len(terms)),
    )
    matrix.sum_duplicates()
    codes, names = (
        encode_labels(labels, None if classes is None else [str(c) for c in classes]) if labels else (None, None)
    )
    return Counts(matrix, terms, labels=codes, label_names=names)


def _checked_label(place: str, token: str) -> str:
    if "," in token:
        raise ValueError(f"{place} must have one label, got {token!r}; several labels per line are not supported")
    return token.removeprefix("+")


def _parse_pair(token: str, first_index: int) -> tuple[int, float]:
    index_text, _, value_text = token.partition(":")
    try:
        if "_" in token:  # Python would read 1_0 as 10
            raise ValueError
        index, value = int(index_text), float(value_text)
    except ValueError:
        raise ValueError(f"must consist of index:count pairs, got {token!r}") from None
    if not first_index <= index <= LARGEST_INDEX:
        hint = "; pass first_index=0 if the file counts from 0" if index == 0 else ""
        raise ValueError(f"must have indices from {first_index} on, got {token!r}{hint}")
    if not 0 <= value <= LARGEST_COUNT:  # NaN fails as well
        raise ValueError(f"must have finite counts >= 0, got {token!r}")
    return index - first_index, value


def _terms(name: str, vocabulary: Vocabulary | FilePath | None, num_terms: int | None, needed: int) -> Vocabulary:
    if vocabulary is None:
        count = needed if num_terms is None else check_int("num_terms", num_terms, at_least=1)
        terms = Vocabulary.numbered(count)
    else:
        terms = vocabulary if isinstance(vocabulary, Vocabulary) else read_vocabulary(vocabulary, skip_blank=False)
        if num_terms is not None and num_terms != len(terms):
            raise ValueError(f"num_terms must be the size of the vocabulary ({len(terms)}), got {num_terms!r}")
    if needed > len(terms):
        raise ValueError(
            f"{name} must have at most {len(terms)} terms, as the vocabulary or num_terms says, got index {needed} "
            "(counted from 1)"
        )
    return terms


def read_vocabulary(source: FilePath, *, skip_blank: bool = True, encoding: str = "utf-8") -> Vocabulary:
    """Read one word per line; counts or anything else behind the word are ignored.

    Blank lines are skipped, or an error where `skip_blank` is off because the numbers of the lines matter.
    """
    words: dict[str, int] = {}
    for number, line in read_lines(source, encoding=encoding):
        word = line.split(maxsplit=1)[0] if line.strip() else None
        if word is None:
            if skip_blank:
                continue
            raise ValueError(f"{file_name(source)}, line {number} must be a word, got a blank line")
        if word in words:
            raise ValueError(
                f"{file_name(source)}, line {number} must be a new word, got {word!r}, which is on line {words[word]}"
            )
        words[word] = number
    if not words:
        raise ValueError(f"{file_name(source)} must have at least one word, got none")
    return Vocabulary(list(words))


def read_sentences(
    source: FilePath,
    *,
    vocabulary: Vocabulary | FilePath | None = None,
    max_words: int | None = None,
    min_count: int = 1,
    unknown: str | None = "<unk>",
    end: str | None = None,
    tokenizer: Tokenizer = str.split,
    labels: FilePath | None = None,
    encoding: str = "utf-8",
) -> Sentences:
    """Read one sentence per line; `vocabulary` and `labels` may be files with one word or one class per line.

    The other arguments are those of `build_sentences`. A blank line is an empty sentence, so that labels stay
    in step.
    """
    lines = [line for _, line in read_lines(source, encoding=encoding)]
    words = vocabulary if isinstance(vocabulary, Vocabulary) or vocabulary is None else read_vocabulary(vocabulary)
    classes = None if labels is None else [line.strip() for _, line in read_lines(labels, encoding=encoding)]
    if classes is not None and len(classes) != len(lines):
        raise ValueError(
            f"{file_name(labels or '')} must have {len(lines)} lines, one per sentence of {file_name(source)}, "
            f"got {len(classes)}"
        )
    try:
        return build_sentences(
            lines,
            vocabulary=words,
            max_words=max_words,
            min_count=min_count,
            unknown=unknown,
            end=end,
            tokenizer=tokenizer,
            labels=classes,
        )
    except ValueError as fault:
        raise ValueError(f"{file_name(source)}: {fault}") from None
