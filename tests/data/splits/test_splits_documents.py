"""Splits of documents: who is drawn, what is dropped, and whose words remain."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data import Counts, LabelledArrays, Parts, Sentences, Vocabulary
from gossamer.data.splits import split_documents, split_given
from gossamer.data.splits.documents import find_repeats
from gossamer.data.text import build_sentences, count_words


def labelled(count: int = 100, classes: int = 4) -> Sentences:
    """Return documents that are all different, with equally large classes."""
    texts = [f"all w{number} c{number % classes}" for number in range(count)]
    return build_sentences(texts, labels=[number % classes for number in range(count)])


def test_classes_are_equally_in_all_parts() -> None:
    parts = split_documents(labelled(), (0.6, 0.2, 0.2))
    assert parts.description["drawn"] == "by class"
    assert [np.bincount(part.labels).tolist() for part in (parts.train, parts.valid, parts.test)] == [
        [15] * 4,
        [5] * 4,
        [5] * 4,
    ]
    assert parts.description["dropped_repeats"] == 0


def test_small_classes_are_drawn_with_the_others() -> None:
    parts = split_documents(labelled(30, 30))
    assert parts.description["drawn"] == "at random"
    assert (len(parts.train), len(parts.valid), len(parts.test)) == (24, 3, 3)


def test_words_are_those_of_training_alone() -> None:
    data = labelled()
    parts = split_documents(data, (0.8, 0.2))
    assert parts.valid is None
    used = {word for row in range(len(parts.train)) for word in parts.train.words(row)}
    assert set(parts.train.vocabulary) == used | {"<unk>"}
    assert parts.test.vocabulary == parts.train.vocabulary
    own = [words for row in range(len(parts.test)) for words in parts.test.words(row)]
    assert own.count("<unk>") == len(parts.test), "the word that is its own is not known to training"
    assert parts.description["num_words"] == len(parts.train.vocabulary) < len(data.vocabulary)


def test_a_seed_decides_who_is_drawn() -> None:
    first, again, other = (split_documents(labelled(), random_state=seed) for seed in (3, 3, 4))
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()
    assert first.description["seed"] == 3


def test_a_running_text_is_cut_in_its_order() -> None:
    data = build_sentences(["a b", "b a", "a a", "b b", "a b", "b a", "a a", "b b", "a b", "c c"])
    parts = split_documents(data)
    assert parts.train.words(0) == ["a", "b"]
    assert parts.test.words(0) == ["<unk>", "<unk>"]
    assert parts.description["drawn"] == "in order"
    assert parts.description["dropped_repeats"] == 0, "sentences repeat in a text, and stay"


def test_documents_of_the_test_part_are_not_learned_from() -> None:
    texts = ["Wi - Fi again"] * 30 + [f"text {number}" for number in range(70)]
    parts = split_documents(build_sentences(texts, labels=["a"] * 30 + ["b"] * 70))
    assert parts.description["dropped_repeats"] == 27
    assert [part.labels.tolist().count(0) for part in (parts.train, parts.valid, parts.test)] == [0, 0, 3]
    assert parts.description["train_rows"] == len(parts.train)


def test_documents_that_are_all_the_same_are_refused() -> None:
    with pytest.raises(ValueError, match="documents must differ, got 16 of training that are all in the test part"):
        split_documents(build_sentences(["ham"] * 20, labels=["a"] * 20))


def test_sentences_that_differ_in_unknown_words_are_not_the_same() -> None:
    texts = ["no 1", "no 2", "no 3", "no 4"]
    data = build_sentences(texts, min_count=2, labels=["a"] * 4)
    assert split_documents(data, (0.5, 0.5)).description["dropped_repeats"] == 0


def test_repeats_are_found_letter_by_letter() -> None:
    found = find_repeats(["U.S. oil, up 3%", "us oil up 4", "", "Größe"], ["US OIL up 3", "", "größe!"])
    assert found.tolist() == [True, False, False, True]


def test_counts_and_arrays_are_split_too() -> None:
    counts = count_words([f"w{number % 3}" for number in range(40)], pattern=r"\w+", labels=[0, 1] * 20)
    parts = split_documents(counts, (0.5, 0.25, 0.25))
    assert isinstance(parts.train, Counts)
    assert np.bincount(parts.valid.labels).tolist() == [5, 5]
    assert "dropped_repeats" not in parts.description, "equal counts need not be equal documents"
    arrays = split_documents(LabelledArrays(np.zeros((10, 2))), (0.8, 0.2))
    assert (len(arrays.train), len(arrays.test)) == (8, 2)


def test_given_parts_are_kept_and_validation_is_drawn() -> None:
    train = build_sentences([f"all w{number}" for number in range(40)], labels=[0, 1] * 20)
    test = build_sentences(["all w0", "all new"], vocabulary=train.vocabulary, labels=[0, 1])
    parts = split_given(Parts(train, None, test, {"dropped_repeats": 2}), 0.25, random_state=1)
    assert len(parts.test) == 2
    assert parts.description["dropped_repeats"] == 3, "one more than were gone before"
    assert len(parts.train) + len(parts.valid) == 39
    assert len(split_given(Parts(train[1:], None, test)).valid) == 4


def test_a_given_validation_part_is_kept() -> None:
    words = Vocabulary(["<unk>", "a", "b"])
    train, valid, test = (build_sentences([text], vocabulary=words) for text in ("a b", "b", "a"))
    parts = split_given(Parts(train, valid, test))
    assert parts.valid.words(0) == ["b"]
    assert parts.description == {
        "kind": "given",
        "dropped_repeats": 0,
        "num_words": 3,
        "train_rows": 1,
        "valid_rows": 1,
        "test_rows": 1,
    }
    with pytest.raises(ValueError, match=r"valid_fraction must be left out for data with a validation part, got 0\.1"):
        split_given(Parts(train, valid, test), 0.1)


def test_no_validation_part_where_none_is_wanted() -> None:
    arrays = LabelledArrays(np.arange(6.0)[:, None])
    parts = split_given(Parts(arrays[:4], None, arrays[4:]), 0)
    assert parts.valid is None
    assert (len(parts.train), len(parts.test)) == (4, 2)
    assert parts.description["valid_fraction"] == 0


@pytest.mark.parametrize("fraction", [1, 1.5, -0.1])
def test_a_fraction_lies_between_nothing_and_all(fraction: float) -> None:
    with pytest.raises(ValueError, match="valid_fraction must be a finite number >= 0 and < 1"):
        split_given(Parts(labelled(), None, labelled()), fraction)


def test_parts_without_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="fractions must give every part at least one of the sentences, got sizes"):
        split_documents(build_sentences(["a", "b"]))
