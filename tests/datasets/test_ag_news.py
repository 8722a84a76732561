from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets import ag_news

SMALL = {"train.csv": 2, "test.csv": 1, "train_20k.csv": 1, "train_extra.csv": 1}


def test_the_whole_training_set_is_preferred_to_a_part(put, monkeypatch):
    monkeypatch.setattr(ag_news, "SIZES", SMALL)
    put("ag_news/test.csv", '"4","Moon","A ""new"" moon, near"\n')
    put("ag_news/train_20k.csv", '"1","Vote","now"\n')
    put("ag_news/train_extra.csv", '"2","","Goal","somewhere"\n')
    part = datasets.load("ag_news", form="texts")
    assert part.texts == ("Vote now", "Goal")
    assert [part.label_names[label] for label in part.labels] == ["World", "Sports"]
    put("ag_news/train.csv", '"3","Shares","up"\n"3","Shares","down"\n')
    assert datasets.load("ag_news", form="texts").texts == ("Shares up", "Shares down")
    assert datasets.load("ag_news", part="test", form="texts").texts == ('Moon A "new" moon, near',)
    train, test = datasets.load("ag_news"), datasets.load("ag_news", part="test", form="counts")
    assert train.words(1) == ["shares", "down"]
    assert test.matrix.nnz == 0


@pytest.mark.parametrize("line", ['"x","a","b"\n', '"1","a"\n', '"5","a","b"\n'])
def test_other_lines_are_named(put, monkeypatch, line):
    monkeypatch.setattr(ag_news, "SIZES", {"train.csv": 1, "test.csv": 1})
    put("ag_news/train.csv", line)
    put("ag_news/test.csv", line)
    with pytest.raises(ValueError, match=r"must have (lines of class, title, description|classes 1 … 4), got others"):
        datasets.load("ag_news")


@pytest.mark.data
def test_real_ag_news():
    test = datasets.load("ag_news", part="test", form="texts")
    assert np.bincount(test.labels).tolist() == [1_900] * 4
    assert len(datasets.load("ag_news", form="texts")) in (44_356, 120_000)
