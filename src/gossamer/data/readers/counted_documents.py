"""Counts from whatever a user has: texts, a table of (document, term, count), a sparse matrix, svmlight."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from gossamer.data.counts import Counts
from gossamer.data.readers.columns import find_roles, rating_column
from gossamer.data.readers.documents import (
    USUAL_NAMES,
    open_document_table,
    plain_ending,
    read_text_columns,
)
from gossamer.data.readers.interactions import interactions_of
from gossamer.data.readers.text import read_counts, read_vocabulary
from gossamer.data.share import Gather, alone
from gossamer.data.tables.chunk import Table
from gossamer.data.text import count_words
from gossamer.data.text_files import FilePath, check_exists, file_name, read_lines
from gossamer.data.vocabulary import Vocabulary

MATRIX_ENDINGS = (".npz", ".mtx")
SVMLIGHT_ENDINGS = (".svm", ".svmlight", ".libsvm", ".feat")
WORD = r"[^\W\d_]+"  # letters of any language

# Compared in lower case and without punctuation, as the names of interactions' columns are.
TEXT_NAMES = {**USUAL_NAMES, "document": ("id", "docid", "documentid", "documentname")}
TRIPLE_NAMES = {
    "document": ("document", "documentid", "documentname", "docid", "doc", "id"),
    "term": ("term", "termid", "word", "wordid", "token"),
    "count": ("count", "counts", "frequency", "freq", "tf", "n"),
}


def read_counted_documents(
    source: FilePath,
    *,
    columns: Mapping[str, str | int | None] | None = None,
    vocabulary: FilePath | None = None,
    max_terms: int | None = None,
    min_documents: int | None = None,
    pattern: str | None = None,
) -> Counts:
    """Read a file of documents by its ending into how often each has each term.

    A table (.csv, .tsv, .parquet, .jsonl) with a column of terms has a row per document and term, with a count or
    without; rows of the same pair add up. Any other table has a column of texts, and may have one of classes and one
    of document ids; of a .txt file every line is a text. Words are runs of letters, in lower case, or matches of
    `pattern`, and terms the `max_terms` most frequent of those in `min_documents` texts at least. `columns` names the
    columns: {"text", "label", "document"}, or {"document", "term", "count"}.

    An .npz of `scipy.sparse.save_npz` or a Matrix Market .mtx is documents × terms, an .svmlight, .libsvm, .svm or
    .feat file what `read_counts` reads. `vocabulary`, a file with a term per line, names their columns; without it
    they are numbered. Of texts it says which words are counted. Text files may be gzipped.
    """
    words = {"max_terms": max_terms, "min_documents": min_documents, "pattern": pattern}
    ending = plain_ending(source)
    if ending in MATRIX_ENDINGS + SVMLIGHT_ENDINGS:
        _refuse(source, "has no texts", {**words, "columns": columns or None})
        if ending in SVMLIGHT_ENDINGS:
            return _with_whole_counts(file_name(source), read_counts(source, vocabulary=vocabulary))
        return _from_matrix(source, vocabulary)
    if ending == ".txt":
        _refuse(source, "has lines for texts", {"columns": columns or None})
        return _from_texts([line for _, line in read_lines(source)], vocabulary, words)
    table = open_document_table(source)
    if has_triples(table, columns or {}):
        _refuse(source, "has terms for texts", {**words, "vocabulary": vocabulary})
        return counts_of_triples(table, columns)
    return counts_of_texts(table, columns, vocabulary, words)


def has_nameless_columns(source: FilePath) -> bool:
    """Say whether a file's ending promises terms that are numbers of columns.

    >>> has_nameless_columns("docs.mtx.gz"), has_nameless_columns("docs.csv")
    (True, False)
    """
    return plain_ending(source) in MATRIX_ENDINGS + SVMLIGHT_ENDINGS


def is_matrix(source: FilePath) -> bool:
    """Say whether a file's ending promises a matrix, which has as many columns as there are terms."""
    return plain_ending(source) in MATRIX_ENDINGS


def _refuse(source: FilePath, reason: str, options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name} must be left out for {file_name(source)}, which {reason}, got {value!r}")


def has_triples(table: Table, columns: Mapping[str, str | int | None]) -> bool:
    """Say whether a table has a row per document and term, rather than one per document."""
    if "term" in columns or "count" in columns:
        return True
    plain = {re.sub(r"[\W_]", "", name.lower()) for name in table.columns}
    return "text" not in columns and "label" not in columns and bool(plain & set(TRIPLE_NAMES["term"]))


def counts_of_triples(
    table: Table, columns: Mapping[str, str | int | None] | None, terms: Vocabulary | None = None
) -> Counts:
    """Read an open table of documents, terms and counts; `terms` are known where processes have divided it."""
    roles = find_roles(table, columns, TRIPLE_NAMES, required=("document", "term"))
    if "count" in roles:
        for chunk in table.chunks([roles["count"]]):  # with its line, which is gone once pairs have added up
            counts = rating_column(chunk, roles["count"])
            is_bad = (counts < 0) | (counts != np.rint(counts))
            if is_bad.any():
                raise chunk.fault(int(is_bad.argmax()), roles["count"], "a whole number >= 0")
    names = {"user": roles["document"], "item": roles["term"], "rating": roles.get("count"), "time": None}
    pairs = interactions_of(table, columns=names, duplicates="sum", item_ids=terms)
    return Counts(_compact(pairs.matrix("rating")), pairs.items, pairs.users)


def counts_of_texts(
    table: Table,
    columns: Mapping[str, str | int | None] | None,
    vocabulary: FilePath | None,
    words: Mapping[str, Any],
    gather: Gather = alone,
) -> Counts:
    """Read an open table of texts, or what a process sees of one."""
    roles = find_roles(table, columns, TEXT_NAMES, required=("text",))
    read = read_text_columns(table, roles)
    counts = _from_texts(read["text"], vocabulary, words, labels=read.get("label"), gather=gather)
    ids = read.get("document")
    if ids is None or len(set(ids)) < len(ids):
        if ids is not None and "document" in (columns or {}):
            raise ValueError(f"{table.name} must name each document once, got {_first_repeat(ids)!r} more than once")
        return counts  # a column that happens to be called id, and is none
    return Counts(counts.matrix, counts.terms, Vocabulary(ids), counts.labels, counts.label_names)


def _from_texts(
    texts: list[str],
    vocabulary: FilePath | None,
    words: Mapping[str, Any],
    labels: list[str] | None = None,
    gather: Gather = alone,
) -> Counts:
    known = None if vocabulary is None else read_vocabulary(vocabulary)
    said = {"pattern": WORD} | {name: value for name, value in words.items() if value is not None}
    if known is not None and ("max_terms" in said or "min_documents" in said):
        raise ValueError("max_terms and min_documents must be left out where a vocabulary says which words count")
    counts = count_words(texts, vocabulary=known, labels=labels, gather=gather, **said)
    if counts.matrix.nnz == 0:
        raise ValueError(f"texts must have at least one word, got none in {len(texts)} texts")
    return counts


def _from_matrix(source: FilePath, vocabulary: FilePath | None) -> Counts:
    name = file_name(source)
    matrix = _load_matrix(check_exists(source), name)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be documents × terms of real numbers, got {matrix.ndim}-d {matrix.dtype}")
    terms = Vocabulary.numbered(matrix.shape[1]) if vocabulary is None else read_vocabulary(vocabulary)
    if len(terms) != matrix.shape[1]:
        raise ValueError(
            f"{file_name(vocabulary or '')} must have {matrix.shape[1]} terms, one for each column of {name}, "
            f"got {len(terms)}"
        )
    matrix = sparse.csr_array(matrix)
    _check_whole(name, matrix)
    return Counts(_compact(matrix), terms)


def _load_matrix(path: Path, name: str) -> Any:
    try:
        return sparse.load_npz(path) if plain_ending(path) == ".npz" else io.mmread(path)
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile) as fault:
        writer = "scipy.sparse.save_npz" if plain_ending(path) == ".npz" else "scipy.io.mmwrite"
        reason = (str(fault).strip().splitlines() or [type(fault).__name__])[0]
        raise ValueError(f"{name} must be a matrix as {writer} writes it, got: {reason}") from None


def _compact(matrix: sparse.csr_array) -> sparse.csr_array:
    compact = matrix.astype(np.float32, copy=True)
    compact.sum_duplicates()
    compact.eliminate_zeros()
    return compact


def _with_whole_counts(name: str, counts: Counts) -> Counts:
    _check_whole(name, counts.matrix)
    return counts


def _check_whole(name: str, matrix: sparse.csr_array) -> None:
    is_good = np.isfinite(matrix.data) & (matrix.data >= 0) & (matrix.data == np.rint(matrix.data))
    if not is_good.all():
        first = int(np.argmin(is_good))
        row = int(np.searchsorted(matrix.indptr, first, side="right")) - 1
        raise ValueError(
            f"{name} must hold whole numbers >= 0, got {matrix.data[first]} in row {row}, "
            f"column {matrix.indices[first]} (both counted from 0)"
        )


def _first_repeat(ids: list[str]) -> str:
    return next(identifier for identifier, times in Counter(ids).items() if times > 1)
