from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.data.batching import Batches


def rows_of(batches: Batches, epoch: int, **place: int) -> list[tuple[list[int], float]]:
    return [(rows.tolist(), weight) for rows, weight in batches.epoch(epoch, **place)]


def whole(num_examples: int, batch_size: int, **options) -> Batches:
    return Batches(lambda rows: rows, num_examples, batch_size, **options)


def test_without_shuffle_rows_come_in_order():
    assert rows_of(whole(5, 2, shuffle=False), 0) == [([0, 1], 1.0), ([2, 3], 1.0), ([4], 1.0)]
    assert len(whole(5, 2)) == 3


def test_permutation_depends_on_seed_and_epoch_only():
    first, same, other = whole(50, 7), whole(50, 7), whole(50, 7, random_state=1)
    assert rows_of(first, 3) == rows_of(same, 3)
    assert rows_of(first, 3) != rows_of(first, 4)
    assert rows_of(first, 3) != rows_of(other, 3)


def test_a_generator_or_none_gives_one_fixed_seed_per_object():
    batches = whole(50, 7, random_state=np.random.default_rng(0))
    assert rows_of(batches, 0) == rows_of(batches, 0)
    assert whole(50, 7, random_state=None).seed != whole(50, 7, random_state=None).seed


@settings(max_examples=60, deadline=None)
@given(
    num_examples=st.integers(1, 60),
    batch_size=st.integers(1, 9),
    world_size=st.integers(1, 5),
    start=st.integers(0, 8),
)
def test_processes_together_see_the_batches_of_one_process_with_the_larger_batch(
    num_examples, batch_size, world_size, start
):
    split = whole(num_examples, batch_size)
    together = whole(num_examples, batch_size * world_size)
    expected = rows_of(together, 2, start=start)
    ranks = [rows_of(split, 2, rank=rank, world_size=world_size, start=start) for rank in range(world_size)]
    assert {len(rank) for rank in ranks} == {len(expected)} == {max(0, split.count(world_size) - start)}
    for index, (rows, _) in enumerate(expected):
        shares = [rank[index] for rank in ranks]
        seen = [row for local, weight in shares if weight for row in local]
        assert sorted(seen) == sorted(rows)
        assert split.num_rows(start + index, world_size) == len(rows)
        means = [np.mean([float(row) ** 2 for row in local]) * weight for local, weight in shares]
        assert np.mean(means) == pytest.approx(np.mean([float(row) ** 2 for row in rows]))


def test_a_process_without_rows_repeats_one_with_weight_zero():
    assert rows_of(whole(1, 4), 0, rank=2, world_size=3) == [([0], 0.0)]


def test_start_skips_without_collating():
    collated = []
    batches = Batches(lambda rows: collated.append(rows), 100, 10)
    list(batches.epoch(0, start=8))
    assert len(collated) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 4), "num_examples must be an integer >= 1, got 0"),
        ((4, 0), "batch_size must be an integer >= 1, got 0"),
        ((4, 2.5), "batch_size must be an integer >= 1, got 2.5"),
    ],
)
def test_wrong_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        whole(*arguments)


def test_wrong_place():
    with pytest.raises(ValueError, match="rank must be an integer >= 0 and <= 1, got 2"):
        next(whole(4, 2).epoch(0, rank=2, world_size=2))
    with pytest.raises(ValueError, match="random_state must be"):
        whole(4, 2, random_state=-1)
