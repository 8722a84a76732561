from __future__ import annotations

import numpy as np
import pytest

from gossamer.datasets.labelled_texts import LabelledTexts, in_form, numbered_labels, split_words

TRAIN = LabelledTexts(("The cat sat.", "The dog!"), np.array([0, 1]), ("cats", "dogs"))
TEST = LabelledTexts(("The bird",), np.array([1]), ("cats", "dogs"))


def test_parts_share_the_vocabulary_of_training(monkeypatch):
    monkeypatch.setattr("gossamer.datasets.labelled_texts.MAX_WORDS", 4)
    train, test = in_form("sentences", TRAIN, TRAIN), in_form("sentences", TEST, TRAIN)
    assert train.vocabulary == test.vocabulary
    assert test.words(0) == ["the", "<unk>"]
    assert test.labels.tolist() == [1]
    assert test.label_names == ("cats", "dogs")
    counts = in_form("counts", TEST, TRAIN)
    assert counts.terms[0] == "the"
    assert counts.matrix.sum() == 1
    assert in_form("texts", TEST, TRAIN) is TEST


def test_an_unknown_form_is_named():
    with pytest.raises(ValueError, match="form must be one of 'sentences', 'counts', 'texts', got 'raw'"):
        in_form("raw", TEST, TRAIN)


def test_words_keep_letters_of_all_scripts_and_single_marks():
    assert split_words("Größe_3: ok!!") == ["größe", "3", ":", "ok", "!", "!"]


def test_labels_outside_the_classes_are_refused():
    assert numbered_labels([1, 2], 1, ["a", "b"], "file").tolist() == [0, 1]
    with pytest.raises(ValueError, match="file must have classes 1 … 2, got others"):
        numbered_labels([3], 1, ["a", "b"], "file")
