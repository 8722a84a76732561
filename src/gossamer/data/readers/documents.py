"""Sentences from a table with a column of texts and perhaps one of classes, or from lines of plain text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from gossamer.data.readers.columns import find_roles
from gossamer.data.readers.text import read_sentences
from gossamer.data.sentences import Sentences
from gossamer.data.share import Gather, alone
from gossamer.data.tables.chunk import Table
from gossamer.data.tables.memory import FrameTable
from gossamer.data.tables.opening import open_table
from gossamer.data.text import build_sentences, split_words
from gossamer.data.text_files import FilePath, file_name, read_lines

# Compared in lower case and without punctuation, as the names of interactions' columns are.
USUAL_NAMES = {
    "text": ("text", "texts", "body", "content", "sentence", "document", "review", "description", "message"),
    "label": ("label", "labels", "class", "category", "topic", "target", "tag", "sentiment"),
}
END = "<eos>"


def read_documents(
    source: FilePath,
    *,
    columns: Mapping[str, str | int | None] | None = None,
    max_words: int | None = None,
    min_count: int = 1,
) -> Sentences:
    """Read a file of documents by its ending; `max_words` and `min_count` are those of `build_sentences`.

    A table (.csv, .tsv, .parquet, or .jsonl with one object per line) has a column of texts and may have one of
    classes, found by their usual names or named in `columns` as {"text": ..., "label": ...}; words are as
    `split_words` cuts them. Of a .txt file every line is a sentence, words are what spaces separate, and `<eos>` ends
    each sentence. Text files may be gzipped.
    """
    if plain_ending(source) == ".txt":
        if columns:
            raise ValueError(
                f"columns must be left out for {file_name(source)}, whose lines are texts, got {columns!r}"
            )
        return read_sentences(source, max_words=max_words, min_count=min_count, end=END)
    return sentences_of(open_document_table(source), columns=columns, max_words=max_words, min_count=min_count)


def sentences_of(
    table: Table,
    *,
    columns: Mapping[str, str | int | None] | None = None,
    max_words: int | None = None,
    min_count: int = 1,
    gather: Gather = alone,
) -> Sentences:
    """Read an open table, or what a process sees of one; arguments are those of `read_documents`."""
    roles = find_roles(table, columns, USUAL_NAMES, required=("text",))
    read = read_text_columns(table, roles)
    return build_sentences(
        read["text"],
        max_words=max_words,
        min_count=min_count,
        tokenizer=split_words,
        labels=read.get("label"),
        gather=gather,
    )


def open_document_table(source: FilePath) -> Table:
    """Open a table of documents by its ending: any that `open_table` knows, or JSON lines."""
    return _open_json_lines(source) if plain_ending(source) in (".jsonl", ".ndjson") else open_table(source)


def plain_ending(source: FilePath) -> str:
    """Return a file's ending in lower case, that before `.gz` where it is gzipped.

    >>> plain_ending("Mail.CSV.gz")
    '.csv'
    """
    path = Path(source)
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def read_text_columns(table: Table, roles: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the columns of all roles as texts; a missing text is an empty one, any other missing value a fault."""
    read: dict[str, list[str]] = {role: [] for role in roles}
    for chunk in table.chunks(list(roles.values())):
        frame = chunk.frame.cast(pl.String)
        for role, column in roles.items():
            missing = frame[column].is_null()
            if role != "text" and missing.any():
                raise chunk.fault(int(missing.arg_max() or 0), column, "a class" if role == "label" else "an id")
            read[role] += frame[column].fill_null("").to_list()
    if not read["text"]:
        raise ValueError(f"{table.name} must have at least one document, got none")
    return read


def _open_json_lines(source: FilePath) -> Table:
    rows: list[dict[str, object]] = []
    for number, line in read_lines(source):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise ValueError(f"{file_name(source)}, line {number} must be a JSON object, got {line[:40]!r}")
        rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = FrameTable(pl.DataFrame({name: [_as_text(row.get(name)) for row in rows] for name in names}))
    table.name = file_name(source)
    return table


def _as_text(value: object) -> str | None:
    return value if isinstance(value, str) or value is None else json.dumps(value)
