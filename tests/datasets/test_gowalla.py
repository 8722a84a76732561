from __future__ import annotations

import pytest

from gossamer import datasets
from gossamer.datasets import gowalla


def test_parts_share_their_ids(put, monkeypatch):
    monkeypatch.setattr(gowalla, "NUM_PAIRS", {"train": 3, "test": 1})
    put("gowalla/train.txt", "0 4 5\n1 5\n")
    put("gowalla/test.txt", "0 6\n1\n")
    train, test, both = (datasets.load("gowalla", part=part) for part in ("train", "test", "all"))
    assert train.users == test.users == both.users
    assert train.items == test.items == both.items
    assert (train.shape, train.nnz, test.nnz, both.nnz) == ((29_858, 40_981), 3, 1, 4)
    assert both.indices.tolist() == [4, 5, 6, 5]


def test_a_cut_off_file_is_noticed(put):
    put("gowalla/train.txt", "0 4 5\n")
    put("gowalla/test.txt", "0 6\n")
    with pytest.raises(ValueError, match=r"train\.txt must hold 810,128 check-ins, got 2"):
        datasets.load("gowalla")


@pytest.mark.data
def test_real_gowalla():
    train, test = datasets.load("gowalla"), datasets.load("gowalla", part="test")
    assert (train.nnz, test.nnz) == (810_128, 217_242)
    assert train.matrix().multiply(test.matrix()).nnz == 0
    assert train.user_counts.min() >= 8
