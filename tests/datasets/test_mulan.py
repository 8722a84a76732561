from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets import mulan


def test_parts_and_the_whole(put, monkeypatch):
    small = {"title": "t", "sizes": {"train": 2, "test": 1}, "num_features": 1, "num_labels": 2, "citation": "c"}
    files = {"train": "birds-train.arff", "test": "birds-test.arff"}
    monkeypatch.setitem(mulan.SETS, "birds", mulan._Set(files=files, **small))
    header = "@relation b\n@attribute loud numeric\n@attribute Owl {0,1}\n@attribute Tit {0,1}\n@data\n"
    put("mulan/birds/birds-train.arff", header + "0.5,1,0\n1.5,0,0\n")
    put("mulan/birds/birds-test.arff", header + "2.5,1,1\n")
    put("mulan/birds/birds.xml", '<labels><label name="Owl"></label><label name="Tit"></label></labels>')
    whole = datasets.load("birds")
    assert whole.inputs.tolist() == [[0.5], [1.5], [2.5]]
    assert whole.targets.tolist() == [[1, 0], [0, 0], [1, 1]]
    assert (whole.input_names, whole.target_names) == (("loud",), ("Owl", "Tit"))
    assert datasets.load("birds", part="test").inputs.tolist() == [[2.5]]
    labelled = datasets.load("birds", drop_unlabelled=True)
    assert labelled.inputs.tolist() == [[0.5], [2.5]]
    assert labelled.targets.tolist() == [[1, 0], [1, 1]]
    with pytest.raises(ValueError, match="drop_unlabelled must be True or False, got 'yes'"):
        datasets.load("birds", drop_unlabelled="yes")


def test_cal500_has_no_split(folders):
    with pytest.raises(ValueError, match="part must be one of 'all', got 'train'"):
        datasets.load("cal500", part="train")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "shape", "labels", "cardinality"),
    [("birds", (645, 260), 19, 1.014), ("emotions", (593, 72), 6, 1.869), ("cal500", (502, 68), 174, 26.044)],
)
def test_real_mulan(name, shape, labels, cardinality):
    data = datasets.load(name)
    assert data.inputs.shape == shape
    assert data.targets.shape == (shape[0], labels)
    assert np.mean(data.targets.sum(axis=1)) == pytest.approx(cardinality, abs=1e-3)
