from __future__ import annotations

import io
import json
import lzma
import tarfile

import pytest

from gossamer import datasets
from gossamer.datasets import newsgroups


def test_counts_are_labelled_by_group_in_both_parts(put, monkeypatch):
    monkeypatch.setattr(newsgroups, "NVDM_SIZES", {"train": (2, 6), "test": (1, 1)})
    put("20news/nvdm2000_train.feat", "1 1:3 2:2\n20 2:1\n")
    put("20news/nvdm2000_test.feat", "20 1:1\n")
    put("20news/nvdm2000_vocab.new", "who 6494\nout 6114\n")
    train, test = datasets.load("20news"), datasets.load("20news", part="test")
    assert train.matrix.toarray().tolist() == [[3, 2], [0, 1]]
    assert [train.label_names[label] for label in train.labels] == ["alt.atheism", "talk.religion.misc"]
    assert test.labels.tolist() == [19]
    assert list(train.terms) == ["who", "out"]


def test_raw_messages_from_lines_or_from_the_official_archive(put, monkeypatch):
    monkeypatch.setattr(newsgroups, "RAW_SIZES", {"train": 2, "test": 1})
    messages = {"train": [("sci.med", "5", "Hé"), ("sci.space", "6", "up")], "test": [("sci.med", "7", "no")]}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for part, rows in messages.items():
            for group, number, text in rows:
                info = tarfile.TarInfo(f"20news-bydate-{part}/{group}/{number}")
                info.size = len(text.encode("latin-1"))
                archive.addfile(info, io.BytesIO(text.encode("latin-1")))
    path = put("20news/20news-bydate.tar.gz", stream.getvalue())
    packed = datasets.load("20news-raw")
    path.unlink()
    for part, rows in messages.items():
        lines = [json.dumps({"id": number, "label": group, "text": text}) for group, number, text in rows]
        put(f"20news/raw_bydate_{part}.jsonl.xz", lzma.compress("\n".join(lines).encode()))
    unpacked = datasets.load("20news-raw")
    assert packed.texts == unpacked.texts == ("Hé", "up")
    assert packed.labels.tolist() == unpacked.labels.tolist() == [13, 14]
    assert datasets.load("20news-raw", part="test").texts == ("no",)


@pytest.mark.data
def test_real_20news():
    train, test = datasets.load("20news"), datasets.load("20news", part="test")
    assert (len(train), len(test), len(train.terms)) == (11_268, 7_505, 2_000)
    assert train.terms == test.terms
    assert int(train.matrix[:, [0]].sum()) == 6494  # "who", as the vocabulary file states


@pytest.mark.data
def test_real_20news_raw():
    for part, size in (("train", 11_314), ("test", 7_532)):
        texts = datasets.load("20news-raw", part=part)
        assert len(texts) == size
        assert set(texts.labels.tolist()) == set(range(20))
