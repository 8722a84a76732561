from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.data.vocabulary import Vocabulary


@given(st.lists(st.text(max_size=5), unique=True) | st.lists(st.integers(-(2**62), 2**62), unique=True))
def test_ids_and_indices_are_inverse(ids):
    vocabulary = Vocabulary(ids)
    assert vocabulary.index_of(ids).tolist() == list(range(len(ids)))
    assert list(vocabulary) == ids
    assert [vocabulary[i] for i in range(len(vocabulary))] == ids
    assert vocabulary == Vocabulary(ids)


def test_kinds_of_input():
    assert Vocabulary(np.array([3, 1], dtype=np.int32)).is_integer
    assert not Vocabulary(np.array(["b", "a"])).is_integer
    assert Vocabulary(pl.Series(["b", "a"], dtype=pl.Categorical))[1] == "a"
    assert list(Vocabulary.numbered(3)) == [0, 1, 2]
    assert len(Vocabulary([])) == 0
    assert Vocabulary.numbered(0).is_integer


def test_ids_from_a_command_line_find_integers():
    assert Vocabulary([12, 7]).find(["7", "x", "12"]).tolist() == [1, -1, 0]
    assert Vocabulary(["12", "7"]).find([7]).tolist() == [1]
    assert 7 in Vocabulary([12, 7])
    assert 8 not in Vocabulary([12, 7])
    assert 1.5 not in Vocabulary([1])


def test_the_first_unknown_id_is_named():
    with pytest.raises(ValueError, match="user must be one of the 2 known ones, for example 'ann', got 'eve'"):
        Vocabulary(["ann", "bob"]).index_of(["bob", "eve", "mal"], "user")
    with pytest.raises(ValueError, match="id must be one of the 0 known ones, got 'eve'"):
        Vocabulary([]).index_of(["eve"])


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        (["a", "b", "a"], "ids must be unique, got 'a' more than once"),
        (["a", None], "ids must not be missing, got a missing id at row 1"),
        ([None], "ids must not be missing, got a missing id at row 0"),
        (["a", 1], "ids must be all strings or all integers, got a mixture"),
        ([1, "a"], "ids must be all strings or all integers, got a mixture"),
        ([1.5], "ids must be all strings or all integers, got Float64"),
        ([2**70], "ids must fit in 64 bits or be strings"),
        ([[1]], "ids must be all strings or all integers"),
    ],
)
def test_bad_ids(ids, text):
    with pytest.raises(ValueError, match=text):
        Vocabulary(ids)


def test_take_keeps_order_and_refuses_repeats():
    vocabulary = Vocabulary(["a", "b", "c"])
    assert list(vocabulary.take(np.array([2, 0]))) == ["c", "a"]
    with pytest.raises(ValueError, match="indices must be unique"):
        vocabulary.take(np.array([1, 1]))


def test_equality_is_of_kind_and_order():
    assert Vocabulary(["1"]) != Vocabulary([1])
    assert Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])
    assert Vocabulary(["a"]) != ["a"]
    assert repr(Vocabulary(["a", "b", "c", "d"])) == "Vocabulary(['a', 'b', 'c', …], size=4)"
