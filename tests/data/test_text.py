from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.data import Vocabulary
from gossamer.data.text import build_sentences, count_words, encode_labels, split_words

TEXTS = ["The ham and the eggs.", "Eggs, eggs and HAM", "", "tea"]


def test_words_are_counted_by_frequency_then_alphabet() -> None:
    data = count_words(TEXTS)
    assert list(data.terms) == ["eggs", "and", "ham", "the", "tea"]
    assert data.matrix.toarray().tolist() == [[1, 1, 1, 2, 0], [2, 1, 1, 0, 0], [0] * 5, [0, 0, 0, 0, 1]]


def test_vocabulary_limits() -> None:
    assert list(count_words(TEXTS, max_terms=2).terms) == ["eggs", "and"]
    assert list(count_words(TEXTS, min_documents=2).terms) == ["eggs", "and", "ham"]
    given_terms = count_words(TEXTS, vocabulary=Vocabulary(["tea", "milk"]))
    assert given_terms.matrix.toarray().tolist() == [[0, 0], [0, 0], [0, 0], [1, 0]]
    assert list(count_words(["a1 b2"], pattern=r"\w+").terms) == ["a1", "b2"]
    assert list(count_words(["Ab"], pattern=r"[A-Z]", lowercase=False).terms) == ["A"]


def test_labels_become_classes() -> None:
    data = count_words(TEXTS, labels=["b", "a", "b", "c"])
    assert data.labels is not None
    assert data.labels.tolist() == [1, 0, 1, 2]
    assert data.label_names == ("a", "b", "c")
    codes, names = encode_labels(["2", "2"], classes=["1", "2"])
    assert (codes.tolist(), names) == ([1, 1], ("1", "2"))
    with pytest.raises(ValueError, match="labels must be among the 1 given classes, got '2'"):
        encode_labels(["2"], classes=["1"])


def test_sentences_keep_order_and_mark_unknown_words() -> None:
    data = build_sentences(["b a b", "", "a c"], min_count=2, end="</s>")
    assert list(data.vocabulary) == ["<unk>", "</s>", "a", "b"]
    assert [data.words(row) for row in range(3)] == [["b", "a", "b", "</s>"], ["</s>"], ["a", "<unk>", "</s>"]]
    assert list(build_sentences(["b a"], unknown=None).vocabulary) == ["a", "b"]
    assert build_sentences(["b|a"], tokenizer=lambda text: text.split("|")).words(0) == ["b", "a"]
    known = Vocabulary(["a", "<unk>"])
    assert build_sentences(["a z"], vocabulary=known).tokens.tolist() == [0, 1]


def test_mistakes_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"texts must consist of the 1 known words, got 'z' in text 1 \(counted from 0\)"
    ):
        build_sentences(["a", "a z"], vocabulary=Vocabulary(["a"]))
    with pytest.raises(ValueError, match="max_words must be an integer >= 2, got 1"):
        build_sentences(["a"], max_words=1)
    with pytest.raises(ValueError, match="texts must be a sequence of texts, got one text 'abc'"):
        count_words("abc")
    with pytest.raises(ValueError, match="texts must be strings, got 3 at row 1"):
        count_words(["a", 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"pattern must be a regular expression, got '\['"):
        count_words(["a"], pattern="[")
    with pytest.raises(ValueError, match="pattern must have at most one group"):
        count_words(["a"], pattern="(a)(b)")
    with pytest.raises(ValueError, match="min_documents must be an integer >= 1, got 0"):
        count_words(["a"], min_documents=0)


@given(st.lists(st.text(alphabet="abc \n", max_size=20), max_size=6))
def test_counts_and_sentences_agree(texts: list[str]) -> None:
    counts = count_words(texts)
    sentences = build_sentences(texts, tokenizer=lambda text: text.split())
    assert len(counts) == len(sentences) == len(texts)
    assert counts.matrix.sum() == len(sentences.tokens)


def test_words_keep_letters_of_all_scripts_and_single_marks() -> None:
    assert split_words("Größe_3: ok!!") == ["größe", "3", ":", "ok", "!", "!"]
