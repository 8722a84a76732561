"""Counts from texts, tables of terms, matrices and svmlight files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import io, sparse

from gossamer.data import Counts, Vocabulary
from gossamer.data.readers import read_counted_documents

COUNTS = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])  # the second document has no words


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def by_name(data: Counts) -> list[dict[str | int, float]]:
    """Return the counts of each document by the names of its terms."""
    table = data.matrix.toarray()
    return [{data.terms[int(term)]: float(row[term]) for term in np.flatnonzero(row)} for row in table]


def test_the_words_of_texts_are_counted_with_classes_and_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "mail.csv", 'id,topic,body\na,food,"Käse, käse and 3 eggs"\nb,news,\nc,food,eggs\n')
    data = read_counted_documents(path)
    assert by_name(data) == [{"käse": 2, "and": 1, "eggs": 1}, {}, {"eggs": 1}]
    assert (data.labels.tolist(), data.label_names) == ([0, 1, 0], ("food", "news"))
    assert data.documents == Vocabulary(["a", "b", "c"])
    assert data.describe()["empty_documents"] == 1
    assert list(read_counted_documents(path, max_terms=1).terms) == ["eggs"]
    assert list(read_counted_documents(path, min_documents=2).terms) == ["eggs"]
    assert list(read_counted_documents(path, pattern=r"\d").terms) == ["3"]
    terms = write(tmp_path / "terms.txt", "eggs\nham\n")
    assert list(read_counted_documents(path, vocabulary=terms).terms) == ["eggs", "ham"]
    assert by_name(read_counted_documents(path, columns={"text": "topic", "label": None}))[0] == {"food": 1}


def test_a_column_called_id_that_repeats_is_no_id(tmp_path: Path) -> None:
    path = write(tmp_path / "mail.csv", "id,text\na,ham\na,eggs\n")
    assert read_counted_documents(path).documents is None
    with pytest.raises(ValueError, match=r"mail\.csv must name each document once, got 'a' more than once"):
        read_counted_documents(path, columns={"document": "id"})


def test_every_line_of_plain_text_is_a_document(tmp_path: Path) -> None:
    assert by_name(read_counted_documents(write(tmp_path / "a.txt", "ham ham\n\neggs\n"))) == [
        {"ham": 2},
        {},
        {"eggs": 1},
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.csv.gz"])
def test_a_row_per_document_and_term_adds_up(tmp_path: Path, name: str) -> None:
    rows = [("x", "ham", 2), ("y", "eggs", 1), ("x", "ham", 1), ("z", "ham", 0)]
    frame = pl.DataFrame(rows, schema=["doc_id", "term", "count"], orient="row")
    path = tmp_path / name
    if name.endswith("parquet"):
        frame.write_parquet(path)
    elif name.endswith("jsonl"):
        frame.write_ndjson(path)
    elif name.endswith("gz"):
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(path, separator="\t" if name.endswith("tsv") else ",")
    data = read_counted_documents(path)
    assert by_name(data) == [{"ham": 3}, {"eggs": 1}, {}]
    assert data.documents == Vocabulary(["x", "y", "z"])
    assert data.matrix.nnz == 2


def test_pairs_without_a_count_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "who,what\nx,ham\nx,ham\ny,eggs\n")
    data = read_counted_documents(path, columns={"document": "who", "term": "what"})
    assert by_name(data) == [{"ham": 2}, {"eggs": 1}]


@pytest.mark.parametrize("name", ["a.npz", "a.mtx", "a.mtx.gz"])
def test_a_matrix_is_documents_by_terms(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("npz"):
        sparse.save_npz(path, sparse.csc_array(COUNTS))
    else:
        io.mmwrite(tmp_path / "a.mtx", sparse.coo_array(COUNTS))
    if name.endswith("gz"):
        path.write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    data = read_counted_documents(path)
    assert data.matrix.toarray().tolist() == COUNTS.tolist()
    assert data.terms == Vocabulary.numbered(3)
    terms = write(tmp_path / "terms.txt", "ham\neggs\ntea\n")
    assert by_name(read_counted_documents(path, vocabulary=terms)) == [{"ham": 2, "tea": 1}, {}, {"eggs": 3}]


def test_a_dense_matrix_market_file_is_read_too(tmp_path: Path) -> None:
    io.mmwrite(tmp_path / "a.mtx", COUNTS)
    assert read_counted_documents(tmp_path / "a.mtx").matrix.toarray().tolist() == COUNTS.tolist()


def test_svmlight_files_are_what_read_counts_reads(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svmlight", "1 1:2 3:1\n2 2:3\n")
    assert by_name(read_counted_documents(path)) == [{0: 2, 2: 1}, {1: 3}]


@pytest.mark.parametrize(
    ("name", "content", "options", "sentence"),
    [
        ("a.csv", "head,foot\n1,2\n", {}, r"a\.csv must have a column of text, got the columns 'head', 'foot'"),
        ("a.csv", "term,count\nham,1\n", {}, r"a\.csv must have a column of document ids"),
        ("a.csv", "doc,term,count\na,ham,1\nb,ham,-2\n", {}, r"a\.csv, line 3: count must be a whole number >= 0"),
        ("a.csv", "doc,term,count\na,ham,1.5\n", {}, r"line 2: count must be a whole number >= 0, got '1\.5'"),
        ("a.csv", "doc,term,count\na,ham,nan\n", {}, "line 2: count must be a finite number, got 'nan'"),
        ("a.csv", "doc,term,count\na,ham,\n", {}, "line 2: count must be a finite number, got nothing"),
        ("a.csv", "doc,term\na,ham\n", {"max_terms": 3}, r"max_terms must be left out for .*, which has terms for"),
        ("a.csv", "id,text\n,ham\n", {}, "line 2: id must be an id, got nothing"),
        ("a.csv", "text\n12\n", {}, "texts must have at least one word, got none in 1 texts"),
        ("a.csv", "text\nham\n", {"columns": {"user": "text"}}, "columns must map text, label, document, got the key"),
        ("a.txt", "ham\n", {"columns": {"text": 0}}, "columns must be left out for .*, which has lines for texts"),
        ("a.svm", "1 1:0.5\n", {}, r"a\.svm must hold whole numbers >= 0, got 0\.5 in row 0, column 0"),
        ("a.svm", "1 1:2\n", {"pattern": "x"}, "pattern must be left out for .*, which has no texts, got 'x'"),
        ("a.mtx", "no\n", {}, r"a\.mtx must be a matrix as scipy\.io\.mmwrite writes it, got: "),
        ("a.npz", "no\n", {}, r"a\.npz must be a matrix as scipy\.sparse\.save_npz writes it, got: "),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, name: str, content: str, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_counted_documents(write(tmp_path / name, content), **options)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (-1.0, r"got -1\.0 in row 2, column 1 \(both counted from 0\)"),
        (0.5, r"a\.npz must hold whole numbers >= 0, got 0\.5 in row 2, column 1"),
        (np.nan, "got nan in row 2, column 1"),
        (np.inf, "got inf in row 2, column 1"),
    ],
)
def test_what_is_no_count_in_a_matrix_is_named_by_its_place(tmp_path: Path, value: float, sentence: str) -> None:
    matrix = COUNTS.astype(float)
    matrix[2, 1] = value
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(matrix))
    with pytest.raises(ValueError, match=sentence):
        read_counted_documents(tmp_path / "a.npz")


def test_a_vocabulary_of_another_size_or_beside_other_choices_is_refused(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(COUNTS))
    terms = write(tmp_path / "terms.txt", "ham\neggs\n")
    with pytest.raises(ValueError, match=r"terms\.txt must have 3 terms, one for each column of .*a\.npz, got 2"):
        read_counted_documents(tmp_path / "a.npz", vocabulary=terms)
    with pytest.raises(ValueError, match="max_terms and min_documents must be left out where a vocabulary says"):
        read_counted_documents(write(tmp_path / "a.txt", "ham\n"), vocabulary=terms, max_terms=1)
    sparse.save_npz(tmp_path / "c.npz", sparse.csr_array(COUNTS * 1j))
    with pytest.raises(ValueError, match=r"c\.npz must be documents × terms of real numbers, got 2-d complex128"):
        read_counted_documents(tmp_path / "c.npz")
