from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from gossamer.data import Counts, HeldOut, Interactions, LabelledArrays, Sentences, Sequences, Split, Vocabulary
from gossamer.data.splits import (
    split_global_time,
    split_random,
    split_rows,
    split_user_time,
    split_users,
    split_users_folds,
)
from gossamer.data.splits_parts import cut_points

Event = tuple[Any, Any, float, int]


# The items of each user, with a time each. Containers are built in the tests: numba, when it compiles, draws random
# numbers, which a strategy must not.
SAMPLES = st.lists(
    st.dictionaries(st.integers(100, 112), st.integers(0, 9), min_size=4, max_size=12), min_size=4, max_size=9
)
Sample = list[dict[int, int]]


def build(sample: Sample) -> Interactions:
    rows = [(user, item, time) for user, items in enumerate(sample) for item, time in items.items()]
    users, items, times = zip(*rows, strict=True)
    ratings = [float(n % 5 + 1) for n in range(len(rows))]
    return Interactions.from_pairs(list(users), list(items), rating=ratings, time=list(times))


def planted(num_users: int = 40, num_items: int = 30, seed: int = 0) -> Interactions:
    generator = np.random.default_rng(seed)
    users, items = np.nonzero(generator.random((num_users, num_items)) < 0.4)
    return Interactions.from_pairs(users, items, time=generator.integers(0, 50, len(users)))


def events(data: Interactions) -> list[Event]:
    users, items = data.pairs()
    assert data.rating is not None
    assert data.time is not None
    return [
        (data.users[u], data.items[i], float(r), int(t))
        for u, i, r, t in zip(users, items, data.rating, data.time, strict=True)
    ]


def parts_of(split: Split) -> list[HeldOut]:
    return [split.test] if split.valid is None else [split.valid, split.test]


def attempt(split: Callable[..., Split], *arguments: Any, **options: Any) -> Split:
    """Split, or tell hypothesis to look elsewhere where the data are too small for every part to have something."""
    try:
        return split(*arguments, **options)
    except ValueError as fault:
        assume(not re.search("at least|must leave training users|got none", str(fault)))
        raise


FRACTIONS = st.sampled_from([(0.7, 0.3), (0.8, 0.1, 0.1), (0.5, 0.25, 0.25)])
SEEDS = st.integers(0, 1000)


def check_interaction_split(data: Interactions, split: Split) -> None:
    """The parts are the whole, share nothing, and keep users and items."""
    parts = [split.train, *(part.target for part in parts_of(split))]
    assert sorted(event for part in parts for event in events(part)) == sorted(events(data))
    for part in parts:
        assert part.nnz > 0
        assert part.users == data.users
        assert part.items == data.items
    for part in parts_of(split):
        assert not set(events(part.history)) & set(events(part.target))


@given(SAMPLES, FRACTIONS, SEEDS)
def test_random_parts_are_the_whole(sample: Sample, fractions: tuple[float, ...], seed: int) -> None:
    data = build(sample)
    split = attempt(split_random, data, fractions, random_state=seed)
    check_interaction_split(data, split)
    assert all(part.history is split.train for part in parts_of(split))
    sizes = [split.train.nnz, *(part.target.nnz for part in parts_of(split))]
    assert np.allclose(sizes, np.array(fractions) * data.nnz, atol=1)
    again = split_random(data, fractions, random_state=seed)
    assert again.train.fingerprint() == split.train.fingerprint()


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


def test_folds_do_not_depend_on_what_happens_between_them() -> None:
    data, generator = planted(), np.random.default_rng(3)
    folds = split_users_folds(data, 3, random_state=generator)
    first = next(folds)
    generator.random(100)
    rest = [first, *folds]
    plain = list(split_users_folds(data, 3, random_state=np.random.default_rng(3)))
    assert [s.test.target.fingerprint() for s in rest] == [s.test.target.fingerprint() for s in plain]


@pytest.mark.parametrize("split", [split_random, split_users, split_user_time])
def test_another_seed_gives_another_split(split: Callable[..., Split]) -> None:
    data = planted()
    assert split(data, random_state=0).train.fingerprint() != split(data, random_state=1).train.fingerprint()


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


def containers(count: int) -> list[Any]:
    labels = np.arange(count) % 3
    words = Vocabulary.numbered(max(1, count))
    return [
        Counts(sparse.csr_array(np.eye(max(1, count))[:count]), words, labels=labels),
        Sentences(np.arange(count), np.arange(count + 1), words, labels=labels),
        Sequences(np.arange(count), np.arange(count + 1), vocabulary=words),
        LabelledArrays(np.arange(count)[:, None], labels),
    ]


def identities(container: Any) -> list[int]:
    """Every row of the containers above carries its own number."""
    if isinstance(container, Counts):
        return [int(column) for column in container.matrix.indices]
    field = {"Sentences": "tokens", "Sequences": "observations", "LabelledArrays": "inputs"}[type(container).__name__]
    return [int(value) for value in np.ravel(getattr(container, field))]


@given(st.integers(4, 40), FRACTIONS, SEEDS)
@settings(max_examples=30)
def test_rows_are_split_without_loss(count: int, fractions: tuple[float, ...], seed: int) -> None:
    assume(min(np.diff([0, *cut_points(count, fractions), count])) > 0)
    for container in containers(count):
        parts = split_rows(container, fractions, random_state=seed)
        assert sorted(row for part in parts for row in identities(part)) == list(range(count))
        assert [len(part) for part in parts] == np.diff([0, *cut_points(count, fractions), count]).tolist()
        again = split_rows(container, fractions, random_state=seed)
        assert [identities(part) for part in again] == [identities(part) for part in parts]


def test_classes_keep_their_proportions() -> None:
    data = LabelledArrays(np.arange(100)[:, None], np.repeat([0, 1], [90, 10]))
    train, test = split_rows(data, (0.8, 0.2), stratify=True)
    assert train.targets is not None
    assert test.targets is not None
    assert np.bincount(train.targets).tolist() == [72, 8]
    assert np.bincount(test.targets).tolist() == [18, 2]
    with pytest.raises(ValueError, match="stratify must be False for data without one class per row"):
        split_rows(LabelledArrays(np.zeros((4, 1)), np.zeros((4, 2))), (0.5, 0.5), stratify=True)
    with pytest.raises(ValueError, match="stratify must be False for data without one class per row"):
        split_rows(Sequences(np.zeros(4, dtype=int), np.arange(5)), (0.5, 0.5), stratify=True)


def test_mistakes_are_named() -> None:
    data = planted()
    for call, message in [
        (lambda: split_random(data, (0.8, 0.1)), "fractions must be 2 or 3 positive numbers that add up to 1"),
        (lambda: split_random(data, (1.0,)), "fractions must be a finite number > 0 and < 1, got 1.0"),
        (lambda: split_random(data, (0.5, 0.2, 0.2, 0.1)), "fractions must be 2 or 3 positive numbers"),
        (lambda: split_random(data[:0]), r"at least one of the interactions, got sizes \[0, 0, 0\]"),
        (lambda: split_rows(containers(2)[0], (0.9, 0.1)), r"at least one of the rows, got sizes \[2, 0\]"),
        (lambda: split_users(data, 20, 20), "must leave training users among the 40, got 20 and 20"),
        (lambda: split_users(data, 0, 0), "num_test must be an integer >= 1, got 0"),
        (lambda: split_users(data, -1, 5), "num_valid must be an integer >= 0, got -1"),
        (lambda: split_users(data, 1.5, 5), "num_valid must be a finite number > 0 and < 1, got 1.5"),
        (lambda: split_users(data, fold_in=1.0), "fold_in must be a finite number > 0 and < 1, got 1.0"),
        (lambda: split_users_folds(data, 1), "num_folds must be an integer >= 2"),
        (lambda: split_users_folds(data, 2, num_valid=30), "num_valid must leave training users in every fold"),
        (lambda: split_user_time(planted_without_time()), "interactions must have times to be split by time"),
        (lambda: split_global_time(data, cutoffs=[5, 3]), "cutoffs must be one or two rising times"),
        (lambda: split_global_time(data, (0.5, 0.5), cutoffs=[5]), "fractions must be None where cutoffs are given"),
        (lambda: split_global_time(data, cutoffs=[-5]), r"at least one of the interactions, got sizes \[0, "),
    ]:
        with pytest.raises(ValueError, match=message):
            call()  # type: ignore[no-untyped-call]
    singles = Interactions.from_pairs(range(9), range(9))
    with pytest.raises(ValueError, match="test users must have at least 2 items that occur in training"):
        split_users(singles, 0, 3)


def planted_without_time() -> Interactions:
    return Interactions.from_pairs([0, 1], [0, 1])


def test_dropped_users_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    base = planted()
    users, items = base.pairs()
    data = Interactions.from_pairs([*users, *range(100, 140)], [*items, *range(200, 240)])
    with caplog.at_level("INFO"):
        split = split_users(data, 10, 30, random_state=1)
    assert split.description["dropped_users"] > 0
    assert "test users dropped: fewer than 2 items that occur in training" in caplog.text
