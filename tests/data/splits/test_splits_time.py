from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from split_samples import (
    FRACTIONS,
    SAMPLES,
    SEEDS,
    Sample,
    attempt,
    build,
    check_interaction_split,
    parts_of,
)

from gossamer.data import Interactions
from gossamer.data.splits import (
    split_global_time,
    split_user_time,
)


@given(SAMPLES, st.sampled_from([(0.7, 0.3), (0.5, 0.25, 0.25)]), SEEDS)
def test_user_time_never_goes_backwards(sample: Sample, fractions: tuple[float, ...], seed: int) -> None:
    data = build(sample)
    split = attempt(split_user_time, data, fractions, random_state=seed)
    check_interaction_split(data, split)
    for part in parts_of(split):
        for user in range(len(data)):
            earlier, later = part.history[[user]].time, part.target[[user]].time
            assert earlier is not None
            assert later is not None
            assert len(later) == 0 or (len(earlier) > 0 and earlier.max() <= later.min())
    expected = np.ceil(fractions[0] * data.user_counts - 1e-9)
    assert (split.train.user_counts == expected).all()
    again = split_user_time(data, fractions, random_state=seed)
    assert again.train.fingerprint() == split.train.fingerprint()


@given(SAMPLES, FRACTIONS)
def test_global_time_never_separates_equal_times(sample: Sample, fractions: tuple[float, ...]) -> None:
    data = build(sample)
    split = attempt(split_global_time, data, fractions)
    check_interaction_split(data, split)
    for part in parts_of(split):
        assert part.history.time is not None
        assert part.target.time is not None
        assert part.history.time.max() < part.target.time.min()
    cutoffs = split.description["cutoffs"]
    assert split_global_time(data, cutoffs=cutoffs).train.fingerprint() == split.train.fingerprint()


def test_equal_times_are_ordered_at_random() -> None:
    data = Interactions.from_pairs([0] * 20, range(20), time=[5] * 20)
    trains = {tuple(split_user_time(data, random_state=seed).train.indices.tolist()) for seed in range(5)}
    assert len(trains) == 5


def test_later_parts_know_what_came_before() -> None:
    data = Interactions.from_pairs([0] * 10, range(10), time=range(10))
    split = split_user_time(data, (0.7, 0.1, 0.2))
    assert split.valid is not None
    assert split.valid.history.indices.tolist() == list(range(7))
    assert split.test.history.indices.tolist() == list(range(8))
    assert split.test.target.indices.tolist() == [8, 9]
    assert split.description == {
        "kind": "user_time",
        "fractions": [0.7, 0.1, 0.2],
        "seed": 0,
        "num_items": 10,
        "train_users": 1,
        "train_interactions": 7,
        "valid_users": 1,
        "valid_interactions": 1,
        "test_users": 1,
        "test_interactions": 2,
    }
