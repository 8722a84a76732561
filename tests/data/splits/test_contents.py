"""Rows held out by what is in them: repeats stay together, and the split of a part is that part of the split."""

from __future__ import annotations

import numpy as np
import pytest
from divided import in_two
from scipy.sparse import csr_array

from gossamer.data import Counts, LabelledArrays, Sentences, Sequences
from gossamer.data.splits import split_contents
from gossamer.data.text import build_sentences
from gossamer.data.vocabulary import Vocabulary

TEXTS = [f"tea w{number % 40} jam" for number in range(200)]


def texts_of(part: Sentences) -> list[str]:
    return [" ".join(map(str, part.words(row))) for row in range(len(part))]


def test_two_processes_split_as_one_and_agree_on_the_words_of_training() -> None:
    data = build_sentences(TEXTS, labels=["even" if number % 2 else "odd" for number in range(200)])
    whole = split_contents(data, random_state=1)
    halves = in_two(lambda rank, gather: split_contents(data[rank::2], random_state=1, gather=gather))
    assert all(half.train.vocabulary == whole.train.vocabulary for half in halves)
    for name in ("train", "valid", "test"):
        both = [text for half in halves for text in texts_of(getattr(half, name))]
        assert sorted(both) == sorted(texts_of(getattr(whole, name)))
    assert "<unk>" in {word for text in texts_of(whole.test) for word in text.split()}, "words that training lacks"


def test_rows_of_the_same_content_are_in_the_same_part() -> None:
    split = split_contents(build_sentences(TEXTS), 0, 0.3)
    assert split.valid is None
    assert len(split.test) % 5 == 0, "every text occurs five times"
    assert len(split.train) + len(split.test) == 200


@pytest.mark.parametrize(
    "data",
    [
        LabelledArrays(np.arange(600.0).reshape(200, 3), np.arange(200) % 3),
        Counts(csr_array(np.random.default_rng(0).poisson(1.0, (200, 6))), Vocabulary(list("abcdef"))),
        Sequences(np.arange(400.0).reshape(400, 1), np.arange(0, 401, 2), names=Vocabulary(range(200))),
        Sequences(np.arange(400) % 7, np.arange(0, 401, 2)),
    ],
    ids=["arrays", "counts", "named series", "series"],
)
def test_every_row_of_any_container_is_in_one_part(data) -> None:
    split = split_contents(data, 0.2, 0.2)
    assert len(split) == 200
    assert 15 < len(split.test) < 75
    assert split.description["test_rows"] == len(split.test)
