"""Search: the best match first, whatever the letters are."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.vocabulary import Vocabulary
from gossamer.serving.explorer.names import NameIndex

WORDS = ["json", "ujson", "json.dumps", "test.json", "path.simplejson", "os"]


def found(index: NameIndex, query: str, n: int = 20) -> list[str]:
    return [hit.name for hit in index.search(query, n).hits]


def test_equal_then_beginning_then_a_word_then_anywhere():
    index = NameIndex({"items": Vocabulary(WORDS)})
    assert found(index, " JSON ") == ["json", "json.dumps", "test.json", "ujson", "path.simplejson"]


def test_words_of_a_query_begin_where_words_of_a_name_do():
    index = NameIndex({"items": Vocabulary(["xpath.join", "os.path.join"])})
    assert found(index, "path.join") == ["os.path.join", "xpath.join"]


def test_what_comes_most_often_is_first_among_equals():
    counts = {"items": np.array([1, 0, 0, 0, 9, 0])}
    assert found(NameIndex({"items": Vocabulary(WORDS)}, counts), "json")[-2:] == ["path.simplejson", "ujson"]


def test_several_vocabularies_and_numbers():
    index = NameIndex({"users": Vocabulary([12, 120, 3]), "items": Vocabulary(["12 monkeys"])})
    answer = index.search("12")
    assert [(hit.kind, hit.name) for hit in answer.hits] == [("users", "12"), ("users", "120"), ("items", "12 monkeys")]
    assert answer.total == 3


def test_total_counts_more_than_are_shown():
    answer = NameIndex({"items": Vocabulary([f"name{number}" for number in range(25_000)])}).search("name", 5)
    assert len(answer.hits) == 5
    assert answer.total == 25_000


@pytest.mark.parametrize("query", ["", "   ", "absent", "a.*b", "[", "\\", "%", "\0"])
def test_nothing_is_found_and_nothing_breaks(query):
    assert found(NameIndex({"items": Vocabulary(WORDS)}), query) == []


def test_letters_of_all_scripts():
    assert found(NameIndex({"words": Vocabulary(["Ärger", "ÜBER", "漢字"])}), "über") == ["ÜBER"]
    assert found(NameIndex({"words": Vocabulary(["Ärger", "漢字"])}), "字") == ["漢字"]


def test_n_must_be_positive():
    with pytest.raises(ValueError, match="n must be"):
        NameIndex({}).search("a", 0)
