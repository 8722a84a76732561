"""How often, and by whom, a time budget is attempted; what comes of one attempt is in test_lowrank_compression.py."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gossamer.models.lowrank.attempts import TIME_ATTEMPTS, TIME_MARGIN, Outcome, _next_promise, compress_within
from gossamer.models.lowrank.problem import BudgetOutOfReach
from gossamer.models.lowrank.search import Allocation

LIMITS = {"macs": 5.0, "milliseconds": 6.0}


class Stopwatch:
    """Attempts that take the milliseconds of a list, one after the other; who made them is noted, with the promise."""

    def __init__(self, times: Sequence[float]) -> None:
        self.times = list(times)
        self.seen: list[tuple[str, float]] = []

    def __call__(self, allocator: str, original: dict[str, float], limits: dict[str, float]) -> Outcome:
        self.seen.append((allocator, limits.get("milliseconds", 0.0)))
        return Outcome(nn.Identity(), original, {"milliseconds": self.times.pop(0)}, Allocation([], [], []))


def test_without_a_time_limit_one_attempt_is_enough():
    watch = Stopwatch([100.0])
    compress_within(watch, "cobla", {}, {"macs": 5.0})
    assert watch.seen == [("cobla", 0.0)]


def test_a_rule_promises_less_until_it_is_met():
    watch = Stopwatch([8.0, 5.9])
    found = compress_within(watch, "uniform", {}, LIMITS)
    assert found.after["milliseconds"] == 5.9
    assert watch.seen == [("uniform", 6.0), ("uniform", pytest.approx(6 * 6 / 8 - TIME_MARGIN * 6))]
    assert LIMITS["milliseconds"] == 6.0


def test_what_costs_the_least_is_not_promised_away():
    """Of 6 that were promised 5 cannot be saved: half a millisecond too much is a third of the rest, not a twelfth."""

    def attempt(allocator, original, limits):
        seen.append(limits["milliseconds"])
        taken = 6.5 if len(seen) == 1 else 5.9
        return Outcome(nn.Identity(), original, {"milliseconds": taken}, Allocation([], [], []), {"milliseconds": 5.0})

    seen: list[float] = []
    compress_within(attempt, "uniform", {}, LIMITS)
    assert seen == [6.0, pytest.approx(5 + 1 * 1 / 1.5 - TIME_MARGIN * 6)]


@given(least=st.floats(0.1, 10), above=st.floats(0.01, 5), allowed=st.floats(0.1, 15), more=st.floats(0.01, 5))
def test_promises_fall_towards_the_least(least, above, allowed, more):
    promised = least + above
    found = _next_promise(promised, min(allowed, promised), min(allowed, promised) + more, least)
    assert found < promised
    assert found >= least or min(allowed, promised) + more <= least


def test_every_failure_leaves_more_for_what_timings_differ_by():
    watch = Stopwatch([6.1, 6.1, 5.9])
    compress_within(watch, "uniform", {}, LIMITS)
    first, second, third = (milliseconds for _, milliseconds in watch.seen)
    assert second == pytest.approx(first * 6 / 6.1 - 0.06)
    assert third == pytest.approx(second * 6 / 6.1 - 0.12)


def test_a_search_begins_when_a_rule_has_found_what_can_be_promised():
    watch = Stopwatch([8.0, 5.9, 6.1, 5.8])
    compress_within(watch, "cobla", {}, LIMITS)
    assert [who for who, _ in watch.seen] == ["pos_cvx", "pos_cvx", "cobla", "cobla"]
    promised = [milliseconds for _, milliseconds in watch.seen]
    assert promised[1] == promised[2] > promised[3]


def test_a_rule_that_never_meets_it_does_not_stand_in_the_way():
    watch = Stopwatch([9.0] * TIME_ATTEMPTS + [5.0])
    compress_within(watch, "cobla", {}, LIMITS)
    assert watch.seen[-1][0] == "cobla"
    assert len(watch.seen) == TIME_ATTEMPTS + 1


def test_a_promise_out_of_reach_is_told_as_what_was_asked_for():
    def attempt(allocator, original, limits):
        if limits["milliseconds"] < 6:
            raise BudgetOutOfReach("budget milliseconds must be at least 5.9, got 5.8")
        return Outcome(nn.Identity(), original, {"milliseconds": 6.5}, Allocation([], [], []))

    with pytest.raises(ValueError, match=r"must be within reach of low rank, got 6; the fastest network .* takes 6.5"):
        compress_within(attempt, "uniform", {}, LIMITS)
    with pytest.raises(BudgetOutOfReach, match=r"must be at least 5.9"):
        compress_within(attempt, "uniform", {}, {"milliseconds": 5.8})


@pytest.mark.parametrize(("allocator", "attempts"), [("pos_cvx", TIME_ATTEMPTS), ("cobla", 2 * TIME_ATTEMPTS)])
def test_out_of_reach_is_said(allocator, attempts):
    watch = Stopwatch([9.0] * attempts)
    with pytest.raises(ValueError, match=r"must be within reach of low rank, got 6; the fastest network found takes 9"):
        compress_within(watch, allocator, {}, LIMITS)
    assert not watch.times


def test_a_share_is_met_by_networks_timed_in_turns():
    """The original took 8 when the limit was made and takes 7 now: 5.5 is within 6, but more than 0.75 of 7."""
    watch = Stopwatch([5.5, 5.2])
    found = compress_within(watch, "uniform", {"milliseconds": 7.0}, LIMITS, time_share=0.75)
    assert found.after["milliseconds"] == 5.2
    assert watch.seen[1] == ("uniform", pytest.approx((6 / 5.5 - TIME_MARGIN) * 0.75 * 7))


def test_an_original_that_is_slower_by_now_is_no_excuse():
    watch = Stopwatch([6.3, 5.9])
    found = compress_within(watch, "uniform", {"milliseconds": 9.0}, LIMITS, time_share=0.75)
    assert found.after["milliseconds"] == 5.9
