from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets import dbpedia


def test_only_the_first_comma_separates(put, monkeypatch):
    monkeypatch.setattr(dbpedia, "NUM_ABSTRACTS", 2)
    path = put(f"dbpedia/{dbpedia.FILE}", '2,Smith , "a singer\n11,Too\x85odd\n')
    texts = datasets.load("dbpedia", form="texts")
    assert texts.texts == ('Smith , "a singer', "Too\x85odd")
    assert texts.labels.tolist() == [2, 11]
    assert len(datasets.load("dbpedia")) == 2
    path.write_text("x,a\n3,b\n")
    with pytest.raises(ValueError, match="must have lines of class,text, got others"):
        datasets.load("dbpedia")


@pytest.mark.data
def test_real_dbpedia():
    assert np.bincount(datasets.load("dbpedia").labels).tolist() == [1_000] * 14
