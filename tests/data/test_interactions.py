from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.data import HeldOut, Interactions, Vocabulary

events = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 70), st.integers(1, 5), st.integers(0, 9)), max_size=200)


def columns(rows):
    return tuple(np.array([row[k] for row in rows], dtype=np.int64) for k in range(4))


@given(events, st.sampled_from(["first", "last", "sum"]))
def test_from_pairs_equals_a_dictionary(rows, rule):
    users, items, rating, time = columns(rows)
    data = Interactions.from_pairs(users, items, rating, time, duplicates=rule)
    expected: dict[tuple[int, int], tuple[float, int]] = {}
    for user, item, value, when in rows:
        if (user, item) not in expected:
            expected[user, item] = (value, when)
            continue
        old_value, old_when = expected[user, item]
        if rule == "sum":
            expected[user, item] = (old_value + value, max(when, old_when))
        elif (rule == "last" and when >= old_when) or (rule == "first" and when < old_when):
            expected[user, item] = (value, when)
    row_of, column_of = data.pairs()
    found = {
        (data.users[u], data.items[i]): (float(r), int(t))
        for u, i, r, t in zip(row_of, column_of, data.rating if rows else [], data.time if rows else [], strict=True)
    }
    assert found == expected


@given(events)
def test_order_of_the_table_does_not_matter_without_repeats(rows):
    unique = list({(row[0], row[1]): row for row in rows}.values())
    users, items, rating, time = columns(unique)
    ids = {"user_ids": Vocabulary.numbered(6), "item_ids": Vocabulary.numbered(71), "duplicates": "error"}
    one = Interactions.from_pairs(users, items, rating, time, **ids)
    other = Interactions.from_pairs(users[::-1], items[::-1], rating[::-1], time[::-1], **ids)
    assert one.fingerprint() == other.fingerprint()


def small() -> Interactions:
    return Interactions.from_pairs(
        ["ann", "bob", "ann", "cat"],
        ["tea", "tea", "jam", "ham"],
        rating=[5, 3, 4, 1],
        time=[10, 20, 30, 40],
        user_features=pl.DataFrame({"age": [1, 2, 3]}),
        item_features=pl.DataFrame({"price": [1.0, 2.0, 3.0]}),
    )


def test_selecting_users_keeps_items_and_features():
    data = small()
    for rows in ([2, 0], np.array([2, 0]), [-1, 0]):
        part = data[rows]
        assert list(part.users) == ["cat", "ann"]
        np.testing.assert_array_equal(part.matrix("rating").toarray(), [[0, 0, 1], [5, 4, 0]])
        assert part.user_features["age"].to_list() == [3, 1]
        assert part.items is data.items
    np.testing.assert_array_equal(data[1:].matrix().toarray(), data.matrix().toarray()[1:])
    np.testing.assert_array_equal(data[[True, False, True]].matrix().toarray(), data.matrix().toarray()[[0, 2]])
    assert len(data[3:]) == 0
    assert data[::2].nnz == 3
    assert np.shares_memory(data[1:].indices, data.indices)


def test_selecting_interactions_and_items():
    data = small()
    kept = data.keep(data.rating >= 4)
    np.testing.assert_array_equal(kept.matrix("rating").toarray(), [[5, 4, 0], [0, 0, 0], [0, 0, 0]])
    chosen = data.take_items(np.array([1, 0]))
    np.testing.assert_array_equal(chosen.matrix("rating").toarray(), [[4, 5], [0, 3], [0, 0]])
    assert chosen.item_features["price"].to_list() == [2.0, 1.0]
    np.testing.assert_array_equal(chosen.time, [30, 10, 20])


def test_aligned_to_another_vocabulary_drops_what_is_unknown(caplog):
    aligned = small().aligned_to(Vocabulary(["jam", "new", "tea"]))
    np.testing.assert_array_equal(aligned.matrix("rating").toarray(), [[4, 0, 5], [0, 0, 3], [0, 0, 0]])
    assert "1 of 4 interactions dropped: their items are unknown to the model" in caplog.text
    data = small()
    assert data.aligned_to(Vocabulary(["tea", "jam", "ham"])) is data


def test_arrays_cannot_be_written_to():
    data = small()
    for array in (data.indptr, data.indices, data.rating, data.time):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_matrix_shares_memory_and_names_what_is_missing():
    data = small()
    assert np.shares_memory(data.matrix("rating").data, data.rating)
    assert np.shares_memory(data.matrix().indices, data.indices)
    bare = Interactions.from_pairs(["a"], ["b"])
    with pytest.raises(ValueError, match="values must be 'binary' for interactions without rating"):
        bare.matrix("rating")
    with pytest.raises(ValueError, match="values must be one of 'binary', 'rating', got 'count'"):
        bare.matrix("count")


def test_describe_and_fingerprint():
    summary = small().describe()
    assert summary["interactions"] == 4
    assert summary["density"] == pytest.approx(4 / 9)
    assert summary["mean_rating"] == pytest.approx(3.25)
    assert (summary["first_time"], summary["last_time"]) == (10, 40)
    assert small().fingerprint() == small().fingerprint() != small()[:2].fingerprint()
    assert Interactions.from_pairs([], []).describe()["density"] == 0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"indices": np.array([1, 0, 0, 2])}, "indices must rise within a row and lie in 0 … 2, got 0 for user 'ann'"),
        ({"indices": np.array([0, 3, 0, 2])}, "indices must rise within a row and lie in 0 … 2, got 3 for user 'ann'"),
        ({"indices": np.array([0, 1, -1, 2])}, "got -1 for user 'bob'"),
        ({"indices": np.zeros(4)}, "indices must be a vector of integers, got float64"),
        ({"indptr": np.array([0, 2, 1, 4])}, "indptr must start at 0, never fall and end at 4"),
        ({"indptr": np.array([0, 4])}, r"indptr must have one entry per user and one more \(4\), got 2"),
        ({"rating": np.array([1, 2, np.nan, 3])}, "rating must be finite, got nan at interaction 2"),
        ({"rating": np.ones(3)}, "rating must be 4 numbers, got float64"),
        ({"time": np.array(["a"] * 4)}, "time must be 4 numbers"),
        ({"user_features": pl.DataFrame({"x": [1]})}, "user_features must have 3 rows, one per id, got 1"),
    ],
)
def test_bad_fields_are_named(change, text):
    data = small()
    fields = {name: getattr(data, name) for name in ("users", "items", "indptr", "indices", "rating", "time")}
    with pytest.raises(ValueError, match=text):
        Interactions(**(fields | change))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((["a"], ["x", "y"]), "users and items must be equally long, got 1 and 2"),
        ((["a", None], ["x", "y"]), "users must not be missing, got a missing id at row 1"),
        ((["a"], ["x"], [float("nan")]), "rating must be finite, got nan at row 0"),
        ((["a"], ["x"], [1, 2]), "rating must be 1 numbers"),
    ],
)
def test_bad_columns_are_named(arguments, text):
    with pytest.raises(ValueError, match=text):
        Interactions.from_pairs(*arguments)


def test_repeats_can_be_an_error_and_unknown_ids_are():
    with pytest.raises(ValueError, match=r"must not repeat a \(user, item\) pair"):
        Interactions.from_pairs(["a", "a"], ["x", "x"], duplicates="error")
    with pytest.raises(ValueError, match="duplicates must be one of 'first', 'last', 'sum', 'error', got 'mean'"):
        Interactions.from_pairs(["a"], ["x"], duplicates="mean")
    with pytest.raises(ValueError, match="items must be one of the 1 known ones, for example 'y', got 'x'"):
        Interactions.from_pairs(["a"], ["x"], item_ids=Vocabulary(["y"]))
    np.testing.assert_array_equal(Interactions.from_pairs(["a", "a"], ["x", "x"], duplicates="sum").rating, [2])


def test_held_out_parts_must_match():
    data = small()
    assert len(HeldOut(data, data.keep(data.rating < 2))) == 3
    with pytest.raises(ValueError, match="target must have the users and items of history"):
        HeldOut(data, data[:2])
