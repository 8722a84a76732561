from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.data.batching import Batches, ShareBatches


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


@settings(max_examples=60, deadline=None)
@given(
    shares=st.lists(st.integers(1, 40), min_size=1, max_size=4), batch_size=st.integers(1, 9), epoch=st.integers(0, 3)
)
def test_processes_go_once_through_their_own_shares_in_the_same_number_of_batches(shares, batch_size, epoch):
    world_size = len(shares)
    batches = ShareBatches(lambda rows: rows, shares, batch_size)
    assert batches.count(world_size) == whole(sum(shares), batch_size).count(world_size)
    of_process = [rows_of(batches, epoch, rank=rank, world_size=world_size) for rank in range(world_size)]
    for share, made in zip(shares, of_process, strict=True):
        assert len(made) == batches.count(world_size)
        assert sorted(row for rows, weight in made if weight for row in rows) == list(range(share))
        sizes = [len(rows) if weight else 0 for rows, weight in made]
        assert max(sizes) - min(sizes) <= 1
    for index, together in enumerate(zip(*of_process, strict=True)):
        num_rows = sum(len(rows) for rows, weight in together if weight)
        assert num_rows == batches.num_rows(index, world_size) > 0
        assert [weight for _, weight in together] == pytest.approx(
            [(len(rows) if weight else 0) * world_size / num_rows for rows, weight in together]
        )


def test_an_epoch_of_shares_can_be_entered_anywhere():
    batches = ShareBatches(lambda rows: rows, [9, 5], 2)
    assert rows_of(batches, 1, rank=1, world_size=2)[2:] == rows_of(batches, 1, rank=1, world_size=2, start=2)
    assert rows_of(batches, 1, rank=1, world_size=2) != rows_of(batches, 2, rank=1, world_size=2)
    assert batches.description() != ShareBatches(lambda rows: rows, [8, 6], 2).description()


def test_mistakes_about_shares():
    with pytest.raises(ValueError, match=r"at least one example for every process, got \[3, 0\]"):
        ShareBatches(lambda rows: rows, [3, 0], 2)
    with pytest.raises(ValueError, match="world_size must be"):
        rows_of(ShareBatches(lambda rows: rows, [3, 1], 2), 0)
