from __future__ import annotations

from dataclasses import replace

import pytest

from gossamer import datasets
from gossamer.datasets import ptb


def test_parts_share_the_training_vocabulary_and_end_their_sentences(put, monkeypatch):
    monkeypatch.setattr(ptb, "NUM_TOKENS", {"train": 5, "valid": 2, "test": 2})
    monkeypatch.setattr(ptb, "SOURCE", replace(ptb.SOURCE, content_md5={}))
    put("ptb/ptb.train.txt", " a <unk> \n b \n")
    put("ptb/ptb.valid.txt", " b \n")
    put("ptb/ptb.test.txt", " <unk> \n")
    train, test = datasets.load("ptb"), datasets.load("ptb", part="test")
    assert train.words(0) == ["a", "<unk>", "<eos>"]
    assert test.words(0) == ["<unk>", "<eos>"]
    assert train.vocabulary == test.vocabulary


def test_an_altered_text_is_refused(put):
    for name in ptb.MD5:
        put(f"ptb/{name}", "altered\n")
    with pytest.raises(
        ValueError, match=r"ptb\.train\.txt must have the content with md5 f26c4b92c5fdc7b3f8c7cdcb991d8420"
    ):
        datasets.load("ptb")


@pytest.mark.data
@pytest.mark.parametrize(("part", "tokens"), [("train", 929_589), ("valid", 73_760), ("test", 82_430)])
def test_real_ptb(part, tokens):
    data = datasets.load("ptb", part=part)
    assert (len(data.tokens), len(data.vocabulary)) == (tokens, 10_000)
