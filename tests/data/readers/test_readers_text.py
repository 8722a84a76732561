from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from gossamer.data import Vocabulary
from gossamer.data.readers import read_counts, read_sentences, read_vocabulary


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_counts_agree_with_scikit_learn(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    lines = []
    for _ in range(30):
        columns = np.flatnonzero(generator.random(12) < 0.4) + 1
        lines.append(f"{generator.integers(1, 4)} " + " ".join(f"{c}:{generator.integers(1, 9)}" for c in columns))
    path = write(tmp_path / "a.feat", "\n".join(lines) + "\n")
    matrix, labels = load_svmlight_file(str(path), n_features=12)
    data = read_counts(path, num_terms=12)
    assert (data.matrix.toarray() == matrix.toarray()).all()
    assert data.label_names == ("1", "2", "3")
    assert data.labels is not None
    assert (data.labels == labels - 1).all()


def test_details_of_the_format(tmp_path: Path) -> None:
    words = write(tmp_path / "vocab.txt", "ham 12\neggs 9\n")
    path = write(tmp_path / "a.feat.gz", "+2 1:3 2:0.5 # a remark\n\n# only a remark\n2\n1 2:1 2:1\n")
    data = read_counts(path, vocabulary=words, classes=[1, 2, 3])
    assert list(data.terms) == ["ham", "eggs"]
    assert data.matrix.toarray().tolist() == [[3, 0.5], [0, 0], [0, 2]]
    assert data.labels is not None
    assert data.labels.tolist() == [1, 1, 0]
    assert data.label_names == ("1", "2", "3")
    unlabelled = read_counts(write(tmp_path / "b.feat", "0:1\n3:1\n"), first_index=0)
    assert unlabelled.labels is None
    assert unlabelled.matrix.shape == (2, 4)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 0:2", r"line 2 must have indices from 1 on, got '0:2'; pass first_index=0"),
        ("1 -3:2", "line 2 must have indices from 1 on, got '-3:2'"),
        ("1 99999999999:2", "line 2 must have indices from 1 on"),
        ("1 3:-1", "line 2 must have finite counts >= 0, got '3:-1'"),
        ("1 3:nan", "line 2 must have finite counts >= 0, got '3:nan'"),
        ("1 3:1e60", "line 2 must have finite counts >= 0, got '3:1e60'"),
        ("1 3:1:1", "line 2 must consist of index:count pairs, got '3:1:1'"),
        ("1 3", "line 2 must consist of index:count pairs, got '3'"),
        ("1 1_0:1", "line 2 must consist of index:count pairs, got '1_0:1'"),
        ("1 qid:1 3:1", "line 2 must consist of index:count pairs, got 'qid:1'"),
        ("1,2 3:1", "line 2 must have one label, got '1,2'"),
        ("3:1", "line 2 must begin with a label as the lines before it, got '3:1'"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"a.feat, {message}"):
        read_counts(write(tmp_path / "a.feat", f"1 1:1\n{line}\n"))


def test_other_mistakes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.feat", "1 5:1\n")
    with pytest.raises(ValueError, match=r"a.feat must have at most 2 terms, .*, got index 5"):
        read_counts(path, vocabulary=Vocabulary(["a", "b"]))
    with pytest.raises(ValueError, match="num_terms must be the size of the vocabulary"):
        read_counts(path, vocabulary=Vocabulary(["a", "b"]), num_terms=3)
    with pytest.raises(ValueError, match="first_index must be an integer >= 0 and <= 1, got 2"):
        read_counts(path, first_index=2)
    with pytest.raises(ValueError, match="must have a label on every line or on none, got 1 for 2 lines"):
        read_counts(write(tmp_path / "b.feat", "1:1\n1 2:1\n"))
    with pytest.raises(ValueError, match="must have at least one document, got none"):
        read_counts(write(tmp_path / "c.feat", "# nothing\n"))
    with pytest.raises(ValueError, match="labels must be among the 1 given classes, got '1'"):
        read_counts(path, classes=[2])
    with pytest.raises(FileNotFoundError, match="must be an existing file"):
        read_counts(tmp_path / "nowhere")


def test_vocabulary_files(tmp_path: Path) -> None:
    path = write(tmp_path / "vocab.txt", "ham\n\neggs\n")
    assert list(read_vocabulary(path)) == ["ham", "eggs"]
    with pytest.raises(ValueError, match=r"vocab.txt, line 2 must be a word, got a blank line"):
        read_counts(write(tmp_path / "a.feat", "1 1:1\n"), vocabulary=path)
    with pytest.raises(ValueError, match=r"line 3 must be a new word, got 'a', which is on line 1"):
        read_vocabulary(write(tmp_path / "b.txt", "a\nb\na\n"))
    with pytest.raises(ValueError, match="must have at least one word, got none"):
        read_vocabulary(write(tmp_path / "c.txt", "\n"))


def test_sentences_with_labels(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt.gz", "b a\r\n\r\na\u2028c\n")
    labels = write(tmp_path / "labels.txt", "10\n9\n10\n")
    data = read_sentences(text, labels=labels)
    assert data.lengths.tolist() == [2, 0, 2]
    assert data.labels is not None
    assert data.labels.tolist() == [1, 0, 1]
    assert data.label_names == ("9", "10")
    known = write(tmp_path / "vocab.txt", "a\nb\n")
    with pytest.raises(ValueError, match=r"a.txt.gz: texts must consist of the 2 known words, got 'c' in text 2"):
        read_sentences(text, vocabulary=known)
    with pytest.raises(ValueError, match=r"vocab.txt must have 3 lines, one per sentence of .*a.txt.gz, got 2"):
        read_sentences(text, labels=known)
