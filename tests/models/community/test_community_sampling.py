"""Neighbours, negatives and divisions: what may be drawn, how often, and never what is excluded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.models.community.sampling import divide_rows, running_sums, sample_negatives, sample_neighbours

INDPTR = np.array([0, 0, 1, 6, 106])
INDICES = np.concatenate([[3], [1, 4, 5, 8, 9], np.arange(0, 200, 2)]).astype(np.int32)


def rows_of(draws: np.ndarray) -> list[list[int]]:
    return [[int(value) for value in row if value >= 0] for row in draws]


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**40), count=st.integers(1, 12), use_weights=st.booleans(), hide=st.integers(0, 199))
def test_only_allowed_neighbours_are_drawn(seed: int, count: int, use_weights: bool, hide: int) -> None:
    rows = np.array([3, 0, 2, 1, 3])
    forbidden = np.array([10, -1, 4, 3, -1])
    excluded = np.array([hide])
    cumulative = running_sums(INDPTR, np.ones(len(INDICES))) if use_weights else None
    drawn = sample_neighbours(
        INDPTR, INDICES, rows, count, seed=seed, cumulative=cumulative, forbidden=forbidden, excluded=excluded
    )
    for row, target, found in zip(rows, forbidden, rows_of(drawn), strict=True):
        allowed = set(INDICES[INDPTR[row] : INDPTR[row + 1]].tolist()) - {int(target), hide}
        assert set(found) <= allowed
        if use_weights:
            assert len(found) == (count if allowed else 0)
        else:
            assert len(found) == len(set(found)) == min(count, len(allowed))


def test_many_are_excluded_and_must_be_in_order() -> None:
    excluded = np.arange(0, 190)
    drawn = sample_neighbours(INDPTR, INDICES, np.array([3, 2]), 8, seed=0, excluded=excluded)
    assert [sorted(row) for row in rows_of(drawn)] == [[190, 192, 194, 196, 198], []]
    with pytest.raises(ValueError, match="excluded must be in ascending order, got"):
        sample_neighbours(INDPTR, INDICES, np.array([3]), 8, seed=0, excluded=excluded[::-1])


@pytest.mark.parametrize("row", [2, 3])
def test_uniform_draws_are_uniform(row: int) -> None:
    drawn = sample_neighbours(INDPTR, INDICES, np.full(20_000, row), 2, seed=1, forbidden=np.full(20_000, 8))
    allowed = np.setdiff1d(INDICES[INDPTR[row] : INDPTR[row + 1]], [8])
    counts = np.bincount(drawn.ravel(), minlength=200)[allowed]
    expected = drawn.size / len(allowed)
    assert counts.sum() == drawn.size
    assert np.square(counts - expected).sum() / expected < len(allowed) + 5 * np.sqrt(2 * len(allowed))  # chi-squared


def test_weighted_draws_follow_the_weights_also_where_most_is_excluded() -> None:
    weights = np.array([7.0, 1.0, 2.0, 0.0, 3.0, 994.0, *np.ones(100)])
    cumulative = running_sums(INDPTR, weights)
    rows = np.full(30_000, 2)
    drawn = sample_neighbours(INDPTR, INDICES, rows, 1, seed=2, cumulative=cumulative)
    shares = np.bincount(drawn.ravel(), minlength=10) / len(rows)
    np.testing.assert_allclose(shares[[1, 4, 5, 8, 9]], np.array([1, 2, 0, 3, 994]) / 1000, atol=0.002)
    # 9 has nearly all the weight: without it, tries run out and the row is walked.
    drawn = sample_neighbours(INDPTR, INDICES, rows, 1, seed=2, cumulative=cumulative, forbidden=np.full(30_000, 9))
    shares = np.bincount(drawn.ravel(), minlength=10) / len(rows)
    np.testing.assert_allclose(shares[[1, 4, 5, 8, 9]], np.array([1, 2, 0, 3, 0]) / 6, atol=0.012)


def test_draws_are_a_function_of_the_seed() -> None:
    rows = np.array([3, 3, 2])
    first, again, other = (sample_neighbours(INDPTR, INDICES, rows, 5, seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert (first[0] != first[1]).any(), "equal rows of a batch draw differently"


def test_running_sums_restart_in_every_row_and_refuse_negative_weights() -> None:
    np.testing.assert_allclose(running_sums(np.array([0, 2, 2, 4]), np.array([1.0, 2.0, 4.0, 4.0])), [1, 3, 4, 8])
    with pytest.raises(ValueError, match=r"weights must be finite and >= 0, got -1.0 … 2.0"):
        running_sums(np.array([0, 2]), np.array([-1.0, 2.0]))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**40), by_popularity=st.booleans())
def test_negatives_are_never_positives(seed: int, by_popularity: bool) -> None:
    rows = np.array([0, 1, 2, 3, 3])
    cumulative = np.cumsum(np.arange(200.0)) if by_popularity else None
    drawn = sample_negatives(INDPTR, INDICES, rows, 10, 200, seed=seed, cumulative=cumulative)
    assert ((drawn >= 0) & (drawn < 200)).all()
    for row, negatives in zip(rows, drawn, strict=True):
        assert not set(negatives.tolist()) & set(INDICES[INDPTR[row] : INDPTR[row + 1]].tolist())


def test_negatives_follow_popularity() -> None:
    cumulative = np.cumsum([0.0, 5.0, 3.0, 2.0])
    indptr, indices = np.array([0, 1]), np.array([1])
    drawn = sample_negatives(indptr, indices, np.zeros(2_000, np.int64), 10, 4, seed=0, cumulative=cumulative)
    np.testing.assert_allclose(np.bincount(drawn.ravel(), minlength=4) / drawn.size, [0, 0, 0.6, 0.4], atol=0.02)


def test_who_has_everything_has_no_negatives() -> None:
    drawn = sample_negatives(np.array([0, 2]), np.array([0, 1]), np.array([0]), 3, 2, seed=0)
    assert (drawn == -1).all()


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**40), by_time=st.booleans())
def test_something_of_every_row_is_left_to_predict(seed: int, by_time: bool) -> None:
    rows = np.array([3, 1, 2])
    order = np.concatenate([np.arange(1), np.arange(5)[::-1], np.arange(100)]) if by_time else None
    known = divide_rows(INDPTR, rows, seed=seed, low=0.2, high=1.0, order=order)
    first, second, third = known[:100], known[100:101], known[101:]
    assert 19 <= first.sum() <= 99
    assert not second.any()
    assert third.sum() <= 4
    if by_time:
        assert (np.diff(first.astype(int)) <= 0).all(), "what is known came first"
        assert (np.diff(third.astype(int)) >= 0).all()
