"""Documents from tables, JSON lines and plain text."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from gossamer.data.readers import read_documents


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_texts_and_classes_of_a_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "mail.csv", 'topic,body\nfood,"Ham, eggs"\nnews,\nfood,eggs\n')
    data = read_documents(path)
    assert [data.words(row) for row in range(3)] == [["ham", ",", "eggs"], [], ["eggs"]]
    assert (data.labels.tolist(), data.label_names) == ([0, 1, 0], ("food", "news"))
    other = read_documents(path, columns={"text": "topic", "label": None})
    assert (other.words(0), other.labels) == (["food"], None)


def test_parquet_and_json_lines_say_the_same(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["ham", "eggs"], "label": [3, 10]})
    frame.write_parquet(tmp_path / "a.parquet")
    lines = '{"text": "ham", "label": 3, "more": [1]}\n\n{"label": 10, "text": "eggs"}\n'
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    first, second = (read_documents(tmp_path / name) for name in ("a.parquet", "a.jsonl.gz"))
    assert first.fingerprint() == second.fingerprint()
    assert first.label_names == ("3", "10")


def test_lines_of_plain_text_are_sentences(tmp_path: Path) -> None:
    data = read_documents(write(tmp_path / "a.txt", "ham and eggs\nham\n"), min_count=2)
    assert [data.words(row) for row in range(2)] == [["ham", "<unk>", "<unk>", "<eos>"], ["ham", "<eos>"]]
    assert data.labels is None
    assert len(read_documents(tmp_path / "a.txt", max_words=3).vocabulary) == 3


@pytest.mark.parametrize(
    ("name", "content", "columns", "sentence"),
    [
        ("a.csv", "head,foot\n1,2\n", None, r"a\.csv must have a column of text, got the columns 'head', 'foot'"),
        ("a.csv", "text,label\n", None, "must have at least one document, got none"),
        ("a.csv", "text,label\nham,\n", None, r"a\.csv, line 2: label must be a class, got nothing"),
        ("a.csv", "text\nham\n", {"user": "text"}, "columns must map text, label, got the key 'user'"),
        ("a.txt", "ham\n", {"text": "text"}, r"columns must be left out for .*a\.txt, whose lines are texts"),
        ("a.jsonl", '{"text": "a"}\n[1]\n', None, r"a\.jsonl, line 2 must be a JSON object, got '\[1\]'"),
        ("a.jsonl", "no\n", None, r"a\.jsonl, line 1 must be a JSON object, got 'no'"),
        ("a.doc", "ham\n", None, r"a\.doc must end in \.csv"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, name: str, content: str, columns: dict[str, str] | None, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_documents(write(tmp_path / name, content), columns=columns)
