"""Documents in parts: checked to belong together, over the words of training."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from gossamer.data import Counts, Parts, Sentences, Vocabulary
from gossamer.data.parts import over_words, training_words
from gossamer.data.text import build_sentences

DATA = build_sentences(["a b", "b c", "d"], labels=["x", "y", "x"])


def test_parts_know_their_sizes_and_content() -> None:
    parts = Parts(DATA[:1], DATA[1:2], DATA[2:])
    assert len(parts) == 3
    assert parts.describe()["valid_rows"] == parts.describe()["test_rows"] == 1
    assert parts.fingerprint() == Parts(DATA[:1], DATA[1:2], DATA[2:]).fingerprint()
    assert parts.fingerprint() != Parts(DATA[:1], None, DATA[2:]).fingerprint()
    assert "valid_rows" not in Parts(DATA[:1], None, DATA[2:]).describe()


def test_parts_of_different_kinds_or_words_are_refused() -> None:
    counts = Counts(sparse.csr_array((1, len(DATA.vocabulary))), DATA.vocabulary)
    with pytest.raises(ValueError, match="valid must be Sentences, as train is, got Counts"):
        Parts(DATA, counts, DATA)
    with pytest.raises(ValueError, match="test must be Sentences, as train is, got NoneType"):
        Parts(DATA, None, None)
    with pytest.raises(ValueError, match="test must have the words and classes of train, got others"):
        Parts(DATA, None, build_sentences(["a"], labels=["x"]))
    with pytest.raises(ValueError, match="valid must have the words and classes of train, got others"):
        Parts(counts, Counts(sparse.csr_array((1, 1)), Vocabulary(["a"])), counts)


def test_words_of_training_are_those_it_uses_and_unknown() -> None:
    assert list(training_words(DATA[1:])) == ["<unk>", "b", "c", "d"]
    plain = Sentences(np.array([1]), np.array([0, 1]), Vocabulary(["a", "b"]))
    assert list(training_words(plain)) == ["b"]


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=5), min_size=1, max_size=5), st.sets(st.sampled_from("abc"))
)
def test_over_words_is_building_over_them(rows: list[list[str]], known: set[str]) -> None:
    data = build_sentences([" ".join(row) for row in rows], labels=["x"] * len(rows))
    words = Vocabulary(["<unk>", *sorted(known)])
    expected = build_sentences([" ".join(row) for row in rows], vocabulary=words, labels=["x"] * len(rows))
    assert over_words(data, words).fingerprint() == expected.fingerprint()
    without = over_words(data, Vocabulary([*sorted(known), "z"]))
    assert [without.words(row) for row in range(len(rows))] == [[word for word in row if word in known] for row in rows]
