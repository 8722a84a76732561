"""Real files give the counts that their publishers state."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gossamer.data.readers import read_counts, read_interactions, read_multilabel, read_sentences, read_table
from gossamer.data.splits import split_user_time, split_users

pytestmark = pytest.mark.data


@pytest.fixture
def folder() -> Path:
    return Path(os.environ["GOSSAMER_DATA"])


def require(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"no {path.name}")
    return path


def test_movielens_1m(folder: Path) -> None:
    data = read_interactions(require(folder / "ml-1m" / "ratings.dat.gz"))
    assert (data.num_users, data.num_items, data.nnz) == (6040, 3706, 1_000_209)
    assert data.rating is not None
    assert np.bincount(data.rating.astype(int)).tolist() == [0, 56174, 107557, 261197, 348971, 226310]
    assert (data.user_counts.min(), data.user_counts.max()) == (20, 2314)
    assert read_table(folder / "ml-1m" / "movies.dat.gz", names=["id", "title", "genres"]).height == 3883
    users = read_table(folder / "ml-1m" / "users.dat.gz", names=["id", "gender", "age", "occupation", "zip"])
    assert dict(users["gender"].value_counts().rows()) == {"M": 4331, "F": 1709}
    split = split_users(data, 500, 500)
    assert (len(split.train), len(split.test)) == (5040, 500)
    per_time = split_user_time(data)
    assert per_time.test.target.nnz == data.nnz - int(np.ceil(0.7 * data.user_counts - 1e-9).sum())


def test_movielens_100k(folder: Path) -> None:
    data = read_interactions(require(folder / "ml-100k" / "u.data.gz"), format="tsv", header=False)
    assert (data.num_users, data.num_items, data.nnz) == (943, 1682, 100_000)


def test_gowalla(folder: Path) -> None:
    train = read_interactions(require(folder / "gowalla" / "train.txt.gz"), format="adjacency")
    assert (train.num_users, train.num_items, train.nnz) == (29_858, 40_981, 810_128)
    test = read_interactions(
        folder / "gowalla" / "test.txt.gz", format="adjacency", user_ids=train.users, item_ids=train.items
    )
    assert test.nnz == 217_242
    assert train.matrix().multiply(test.matrix()).nnz == 0


def test_20_newsgroups(folder: Path) -> None:
    vocabulary = require(folder / "20news" / "nvdm2000_vocab.new")
    for part, documents, tokens in [("train", 11_268, 1_128_881), ("test", 7_505, 720_898)]:
        path = folder / "20news" / f"nvdm2000_{part}.feat.gz"
        data = read_counts(path, vocabulary=vocabulary, classes=range(1, 21))
        assert data.matrix.shape == (documents, 2000)
        assert data.matrix.sum(dtype=np.float64) == tokens
        assert data.labels is not None
        assert np.unique(data.labels).tolist() == list(range(20))


def test_penn_treebank(folder: Path) -> None:
    train = read_sentences(require(folder / "ptb" / "ptb.train.txt.gz"), end="<eos>")
    assert (len(train.tokens), len(train.vocabulary)) == (929_589, 10_000)
    for part, tokens in [("valid", 73_760), ("test", 82_430)]:
        path = folder / "ptb" / f"ptb.{part}.txt.gz"
        assert len(read_sentences(path, end="<eos>", vocabulary=train.vocabulary).tokens) == tokens


def test_hsvae_sentences(folder: Path) -> None:
    yahoo = require(folder / "hsvae" / "New_Yahoo")
    data = read_sentences(
        yahoo / "test.txt.gz",
        vocabulary=yahoo / "vocab.txt.gz",
        unknown="_UNK",
        labels=yahoo / "test_class_label.txt.gz",
    )
    assert data.labels is not None
    assert np.bincount(data.labels).tolist() == [1000] * 10


@pytest.mark.parametrize(
    ("name", "files", "rows", "features", "labels", "cardinality"),
    [
        ("birds", ["birds-train", "birds-test"], 645, 260, 19, 1.014),
        ("emotions", ["emotions"], 593, 72, 6, 1.869),
        ("emotions", ["emotions-train", "emotions-test"], 593, 72, 6, 1.869),
        ("cal500", ["cal500"], 502, 68, 174, 26.044),
    ],
)
def test_mulan(
    folder: Path, name: str, files: list[str], rows: int, features: int, labels: int, cardinality: float
) -> None:
    names = require(folder / "mulan" / name / f"{name}.xml")
    parts = [read_multilabel(folder / "mulan" / name / f"{file}.arff.gz", labels=names) for file in files]
    inputs = np.concatenate([part.inputs for part in parts])
    targets = np.concatenate([part.targets for part in parts if part.targets is not None])
    assert inputs.shape == (rows, features)
    assert targets.shape == (rows, labels)
    assert abs(targets.sum(axis=1).mean() - cardinality) < 0.001
