from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets import hsvae


def test_sentences_use_the_authors_vocabulary_and_unknown_word(put, monkeypatch):
    monkeypatch.setitem(hsvae.SIZES, "New_Yahoo", (2, 2))
    for part in ("valid", "test"):
        put(f"hsvae/New_Yahoo/{part}.txt", "why ?\n_UNK odd ?\n")
        put(f"hsvae/New_Yahoo/{part}_class_label.txt", "0\n1\n")
    put("hsvae/New_Yahoo/vocab.txt", "?\nwhy\n_UNK\n")
    data = datasets.load("hsvae-yahoo")
    assert data.words(1) == ["<unk>", "<unk>", "?"]
    assert data.labels.tolist() == [0, 1]
    assert datasets.load("hsvae-yahoo", part="test").vocabulary == data.vocabulary
    both = datasets.load("hsvae-yahoo", part="all")
    assert [both.words(row) for row in (0, 1, 2, 3)] == [data.words(0), data.words(1)] * 2
    assert both.labels.tolist() == [0, 1, 0, 1]


def test_there_is_no_training_text(folders):
    with pytest.raises(ValueError, match="part must be one of 'valid', 'test', 'all', got 'train'"):
        datasets.load("hsvae-dbpedia", part="train")


@pytest.mark.data
@pytest.mark.parametrize(("name", "classes"), [("hsvae-dbpedia", 14), ("hsvae-yahoo", 10)])
@pytest.mark.parametrize("part", ["valid", "test"])
def test_real_hsvae(name, classes, part):
    assert np.bincount(datasets.load(name, part=part).labels).tolist() == [1_000] * classes
