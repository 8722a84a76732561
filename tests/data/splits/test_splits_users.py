from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from split_samples import (
    SAMPLES,
    SEEDS,
    Sample,
    attempt,
    build,
    events,
    parts_of,
    planted,
)

from gossamer.data import Interactions, Split
from gossamer.data.splits import (
    split_users,
    split_users_fold,
    split_users_folds,
)


def check_user_split(data: Interactions, split: Split, fold_in: float) -> None:
    everything = set(events(data))
    trained = set(split.train.users)
    assert split.train.item_counts.min() > 0, "every item is one of a training user"
    seen_users = set(trained)
    for part in parts_of(split):
        assert part.history.items == split.train.items
        assert not seen_users & set(part.history.users)
        seen_users |= set(part.history.users)
        assert set(events(part.history)) <= everything
        assert set(events(part.target)) <= everything
        assert not set(events(part.history)) & set(events(part.target))
        whole = part.history.user_counts + part.target.user_counts
        assert (whole >= 2).all()
        expected = np.clip(np.ceil(fold_in * whole - 1e-9), 1, whole - 1)
        assert (part.history.user_counts == expected).all()
        for row, user in enumerate(part.history.users):
            known = {event for event in everything if event[0] == user and event[1] in split.train.items}
            assert known == set(events(part.history[[row]])) | set(events(part.target[[row]]))
    assert sorted(events(split.train)) == sorted(event for event in everything if event[0] in trained)
    assert len(seen_users) + split.description["dropped_users"] == len(data)


@given(SAMPLES, st.sampled_from([0.3, 0.5, 0.8]), st.sampled_from([0, 1, 0.2]), SEEDS)
@settings(max_examples=50)
def test_held_out_users_are_strangers(sample: Sample, fold_in: float, num_valid: float, seed: int) -> None:
    data = build(sample)
    split = attempt(split_users, data, num_valid, 2, fold_in=fold_in, random_state=seed)
    check_user_split(data, split, fold_in)
    again = split_users(data, num_valid, 2, fold_in=fold_in, random_state=seed)
    assert again.train.fingerprint() == split.train.fingerprint()
    assert again.test.target.fingerprint() == split.test.target.fingerprint()


def test_folds_test_every_user_once() -> None:
    data = Interactions.from_pairs(*np.nonzero(np.random.default_rng(0).random((41, 30)) < 0.4), rating=None, time=None)
    tested: list[Any] = []
    trains = []
    for number, split in enumerate(split_users_folds(data, 4, num_valid=3, random_state=7)):
        assert split.description["fold"] == number
        assert split.valid is not None
        assert len(split.valid) == 3
        assert not set(split.train.users) & (set(split.test.target.users) | set(split.valid.target.users))
        tested += list(split.test.target.users)
        trains.append(split.train.fingerprint())
    assert sorted(tested) == sorted(data.users)
    assert trains == [split.train.fingerprint() for split in split_users_folds(data, 4, num_valid=3, random_state=7)]


def test_one_fold_is_that_of_all_folds() -> None:
    data = planted()
    for number, expected in enumerate(split_users_folds(data, 3, num_valid=4, fold_in=0.5, random_state=2)):
        split = split_users_fold(data, number, 3, num_valid=4, fold_in=0.5, random_state=2)
        assert split.description == expected.description
        assert split.train.fingerprint() == expected.train.fingerprint()
        assert split.test.history.fingerprint() == expected.test.history.fingerprint()
        assert split.test.target.fingerprint() == expected.test.target.fingerprint()


def test_folds_do_not_depend_on_what_happens_between_them() -> None:
    data, generator = planted(), np.random.default_rng(3)
    folds = split_users_folds(data, 3, random_state=generator)
    first = next(folds)
    generator.random(100)
    rest = [first, *folds]
    plain = list(split_users_folds(data, 3, random_state=np.random.default_rng(3)))
    assert [s.test.target.fingerprint() for s in rest] == [s.test.target.fingerprint() for s in plain]


def test_dropped_users_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    base = planted()
    users, items = base.pairs()
    data = Interactions.from_pairs([*users, *range(100, 140)], [*items, *range(200, 240)])
    with caplog.at_level("INFO"):
        split = split_users(data, 10, 30, random_state=1)
    assert split.description["dropped_users"] > 0
    assert "test users dropped: fewer than 2 items that occur in training" in caplog.text
