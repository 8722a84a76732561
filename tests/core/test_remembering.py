"""What is computed once, and what is found again."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.remembering import CAPACITY, content_hash, remembered, remembering, seconds_remembered


def counting() -> tuple[list[int], Callable[[], int]]:
    calls: list[int] = []

    def compute() -> int:
        calls.append(len(calls))
        return calls[-1]

    return calls, compute


def test_nothing_is_remembered_unless_asked_for() -> None:
    _, compute = counting()
    assert [remembered("a", 1, compute), remembered("a", 1, compute)] == [0, 1]
    with remembering():
        assert [remembered("a", 1, compute), remembered("a", 1, compute)] == [2, 2]
    assert remembered("a", 1, compute) == 3
    assert seconds_remembered() == 0


def test_subjects_and_causes_are_told_apart() -> None:
    _, compute = counting()
    with remembering():
        found = [remembered(subject, causes, compute) for subject in "ab" for causes in (1, 2, 1, 2)]
    assert found == [0, 1, 0, 1, 2, 3, 2, 3]


def test_seconds_that_were_not_spent_again_are_counted() -> None:
    with remembering() as memory:
        for _ in range(3):
            remembered("sleep", (), lambda: time.sleep(0.02))
        assert memory.seconds == seconds_remembered() >= 0.04


def test_what_was_asked_for_longest_ago_is_forgotten() -> None:
    calls, compute = counting()
    with remembering():
        for number in range(CAPACITY):
            remembered("a", number, compute)
        remembered("a", 0, compute)  # the oldest is asked for again
        remembered("a", CAPACITY, compute)
        assert len(calls) == CAPACITY + 1
        remembered("a", 0, compute)
        assert len(calls) == CAPACITY + 1
        remembered("a", 1, compute)
        assert len(calls) == CAPACITY + 2


def test_what_cannot_be_told_by_content_is_computed() -> None:
    calls, compute = counting()
    with remembering():
        for _ in range(2):
            remembered("a", [torch.zeros(2), object()], compute)
            remembered("a", np.array([object()]), compute)
    assert len(calls) == 4


def test_an_error_is_not_remembered() -> None:
    _, compute = counting()
    with remembering():
        with pytest.raises(ZeroDivisionError):
            remembered("a", 1, lambda: 1 // 0)
        assert remembered("a", 1, compute) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        ([[1], 2], [[1, 2]]),
        (np.zeros(2), np.zeros((2, 1))),
        (np.zeros(2, dtype=np.float32), np.zeros(1, dtype=np.float64)),
        (torch.zeros(3), torch.tensor([0.0, 0.0, 1e-30])),
        ({"a": 1}, [("a", 1)]),
        (None, "None"),
        (1, True),
    ],
)
def test_other_content_is_another_key(one: object, other: object) -> None:
    assert content_hash(one) != content_hash(other)


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(), st.lists))
def test_equal_content_is_one_key(causes: object) -> None:
    assert content_hash(causes) == content_hash(causes) is not None


def test_layout_in_memory_does_not_matter() -> None:
    rows = torch.arange(6.0).reshape(2, 3)
    assert content_hash(rows) == content_hash(rows.T.contiguous().T) == content_hash(rows.numpy())


def test_a_subject_of_many_small_values_may_have_more_of_them() -> None:
    _, compute = counting()
    with remembering():
        found = [remembered("a", number % 20, compute, capacity=20) for number in range(40)]
    assert found == [*range(20), *range(20)]


def test_seconds_of_a_value_count_what_was_remembered_in_computing_it() -> None:
    def part() -> None:
        remembered("part", 1, lambda: time.sleep(0.05))

    with remembering():
        part()
        remembered("whole", 1, part)
        before = seconds_remembered()
        remembered("whole", 1, part)
        assert seconds_remembered() - before >= 0.05
