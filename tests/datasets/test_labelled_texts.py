from __future__ import annotations

import numpy as np
import pytest

from gossamer.datasets.labelled_texts import LabelledTexts, in_form, numbered_labels

TRAIN = LabelledTexts(("The cat sat.", "The dog!"), np.array([0, 1]), ("cats", "dogs"))
TEST = LabelledTexts(("The bird",), np.array([1]), ("cats", "dogs"))


def test_parts_share_the_vocabulary_of_training():
    train, test = (in_form("sentences", part, TRAIN, max_words=4) for part in (TRAIN, TEST))
    assert train.vocabulary == test.vocabulary
    assert test.words(0) == ["the", "<unk>"]
    assert test.labels.tolist() == [1]
    assert test.label_names == ("cats", "dogs")
    counts = in_form("counts", TEST, TRAIN)
    assert counts.terms[0] == "the"
    assert counts.matrix.sum() == 1
    assert in_form("texts", TEST, TRAIN) is TEST


def test_rare_words_can_be_left_out():
    frequent = in_form("sentences", TEST, TRAIN, max_words=None, min_count=2)
    assert list(frequent.vocabulary) == ["<unk>", "the"]


def test_an_unknown_form_is_named():
    with pytest.raises(ValueError, match="form must be one of 'sentences', 'counts', 'texts', got 'raw'"):
        in_form("raw", TEST, TRAIN)


def test_labels_outside_the_classes_are_refused():
    assert numbered_labels([1, 2], 1, ["a", "b"], "file").tolist() == [0, 1]
    with pytest.raises(ValueError, match="file must have classes 1 … 2, got others"):
        numbered_labels([3], 1, ["a", "b"], "file")
