"""What a fingerprint by rows notices, and what it must not depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.data.filters import drop_empty
from gossamer.data.interactions import Interactions
from gossamer.data.row_digests import SUMMED, fingerprint_of_sums, row_contents, sum_row_digests
from gossamer.data.sentences import Sentences
from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), unique=True, min_size=1)


@given(pairs=PAIRS, order=st.permutations(range(7)), cut=st.integers(0, 7))
def test_it_is_that_of_the_rows_whoever_holds_them_in_whatever_order(pairs, order, cut):
    users, items = zip(*pairs, strict=True)
    known = {"user_ids": Vocabulary(range(7)), "item_ids": Vocabulary(range(6))}
    data = Interactions.from_pairs(users, items, rating=np.arange(len(pairs)), **known)
    shares = data[np.array(order[:cut], dtype=int)], data[np.array(order[cut:], dtype=int)]
    expected = fingerprint_of_sums([sum_row_digests(data)])
    assert fingerprint_of_sums(map(sum_row_digests, shares)) == expected
    assert fingerprint_of_sums([sum_row_digests(drop_empty(data))]) == expected
    assert expected.startswith(SUMMED)


CHANGES = {
    "user": {"users": ["ann", "bert"]},
    "item": {"items": ["tea", "ham"]},
    "rating": {"rating": [1, 2, 4]},
    "time": {"time": [7, 8, 10]},
    "pair": {"items": ["jam", "tea"]},
    "kind of id": {"items": [1, 2]},
}


@pytest.mark.parametrize("changed", CHANGES)
def test_it_notices(changed):
    given = {"users": ["ann", "bob"], "items": ["tea", "jam"], "rating": [1, 2, 3], "time": [7, 8, 9]}

    def digest(users, items, rating, time):
        rows, columns = [users[0], users[1], users[0]], [items[0], items[0], items[1]]
        return sum_row_digests(Interactions.from_pairs(rows, columns, rating=rating, time=time))

    assert digest(**given) != digest(**{**given, **CHANGES[changed]})


def test_without_ratings_it_is_another():
    data = Interactions.from_pairs([1, 2], [1, 1], rating=[1.0, 1.0])
    assert sum_row_digests(data) != sum_row_digests(replace(data, rating=None))


def test_a_sentence_is_known_by_its_words_and_its_fingerprint_notices_its_class():
    words, offsets = Vocabulary(["tea", "jam"]), np.array([0, 1, 3])
    data = Sentences(np.array([0, 1, 0]), offsets, words, np.array([0, 1]), ("a", "b"))
    renumbered = Sentences(np.array([1, 0, 1]), offsets, Vocabulary(["jam", "tea"]), np.array([0, 1]), ("a", "b"))
    relabelled = replace(data, labels=np.array([1, 1]))
    assert list(row_contents(data)) == list(row_contents(renumbered)) == list(row_contents(relabelled))
    assert sum_row_digests(data) == sum_row_digests(renumbered) != sum_row_digests(relabelled)


def test_a_series_is_known_by_its_name_and_its_fingerprint_notices_its_steps():
    data = Sequences(np.array([0, -1, 1]), np.array([0, 2, 3]), vocabulary=Vocabulary("ab"), names=Vocabulary("xy"))
    other = replace(data, observations=np.array([0, 1, 1]))
    assert list(row_contents(data)) == list(row_contents(other)) == [b"'x'", b"'y'"]
    assert sum_row_digests(data) != sum_row_digests(other)
