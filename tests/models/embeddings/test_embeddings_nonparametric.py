from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.data.batching import Batches
from gossamer.models.embeddings.nonparametric import AnchorCount, NonparametricStep
from gossamer.training.loop import fit


def count_by_definition(values: list[float], start: int, change: int, window: int, at_least: int, at_most: int) -> int:
    """Algorithm 2 written down again, over the whole history at once."""
    number = start
    for end in range(window, len(values) + 1):
        steps = list(pairwise(values[end - window : end]))
        if all(later < earlier for earlier, later in steps):
            number += change
        elif all(later > earlier for earlier, later in steps):
            number -= change
        number = sorted((at_least, number, at_most))[1]
    return number


@given(
    st.lists(st.integers(0, 5).map(float), max_size=15),
    st.integers(2, 9),
    st.integers(-3, 3),
    st.integers(2, 4),
)
def test_the_count_follows_algorithm_2(values: list[float], start: int, change: int, window: int):
    count = AnchorCount(start, change=change, window=window, at_least=2, at_most=9)
    for value in values:
        assert 2 <= count.update(value) <= 9
    assert count.number == count_by_definition(values, start, change, window, 2, 9)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12), st.integers(0, 11))
def test_a_count_goes_on_from_its_state(values: list[float], cut: int):
    whole, first = AnchorCount(5, at_most=20), AnchorCount(5, at_most=20)
    for value in values:
        whole.update(value)
    for value in values[:cut]:
        first.update(value)
    second = AnchorCount(1, at_most=20)
    second.load_state_dict(first.state_dict())
    for value in values[cut:]:
        second.update(value)
    assert second.number == whole.number


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": 0, "at_most": 5}, r"^start must be an integer >= 1 and <= 5, got 0$"),
        ({"start": 9, "at_most": 5}, r"^start must be an integer >= 1 and <= 5, got 9$"),
        ({"at_most": 0}, r"^at_most must be an integer >= 1, got 0$"),
        ({"change": 0.5, "at_most": 20}, r"^change must be an integer, got 0.5$"),
        ({"window": 1, "at_most": 20}, r"^window must be an integer >= 2, got 1$"),
    ],
)
def test_bad_counts_are_named(arguments: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        AnchorCount(**arguments)


def test_an_objective_that_is_not_finite_has_no_trend():
    with pytest.raises(FloatingPointError, match="the objective is nan"):
        AnchorCount(at_most=20).update(float("nan"))


class CountedAnchors:
    """A set of anchors that notes when it was switched to how many."""

    def __init__(self, number: int) -> None:
        self.num_active = number
        self.seen: list[int] = []

    def nnz(self) -> int:
        return 10 * self.num_active

    def switch(self, number: int) -> None:
        self.num_active = number
        self.seen.append(number)

    def state_dict(self) -> dict[str, Any]:
        return {"number": self.num_active}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.num_active = state["number"]


class CountedUpdates:
    def __init__(self) -> None:
        self.num_updates = 0

    def setup(self, fabric: Any) -> None:
        pass

    def __call__(self, batch: Any, weight: float) -> dict[str, float]:
        self.num_updates += 1
        return {"loss": 1.0}

    def state_dict(self) -> dict[str, Any]:
        return {"num_updates": self.num_updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.num_updates = state["num_updates"]


def train(losses: list[float], **options: Any) -> tuple[NonparametricStep, list[CountedAnchors], Any]:
    """One update per epoch, after which the validation loss is the next of `losses`."""
    sets = [CountedAnchors(4), CountedAnchors(4)]
    count = AnchorCount(4, change=1, window=2, at_most=9)
    step = NonparametricStep(CountedUpdates(), sets, count, lambda1=0.2, lambda2=0.1)
    batches = Batches(lambda rows: rows, 1, 1)
    history = fit(
        step,
        batches,
        epochs=len(losses),
        validate=lambda: step.measure(losses[step.step.num_updates - 1]),
        monitor="objective",
        **options,
    )
    return step, sets, history


def test_both_tables_follow_the_count_and_the_trace_is_kept():
    _, sets, history = train([90.0, 80.0, 70.0, 75.0, 74.0], restore_best=False)
    # 4 anchors and 40 entries in each table: 90 + 0.1 · 80 + 0.1 · 8.
    assert history.epochs[0]["objective"] == pytest.approx(98.8)
    assert [epoch["num_anchors"] for epoch in history.epochs] == [8, 8, 10, 12, 10]
    assert [epoch["nnz"] for epoch in history.epochs] == [80, 80, 100, 120, 100]
    assert sets[0].seen == sets[1].seen == [5, 6, 5]


def test_what_was_measured_is_what_is_kept():
    """The count moves on in `measure`, but the model of the best epoch has the anchors it was measured with."""
    step, sets, history = train([90.0, 80.0, 70.0, 95.0])
    assert history.best_epoch == 2
    assert sets[0].num_active == sets[1].num_active == 5
    assert step.step.num_updates == 3


def test_a_run_that_was_cut_ends_like_one_that_was_not(tmp_path: Path):
    losses = [90.0, 80.0, 70.0, 75.0, 74.0, 73.0]
    whole = train(losses)
    train(losses[:3], checkpoint=tmp_path / "checkpoint")
    resumed = train(losses, checkpoint=tmp_path / "checkpoint")
    assert resumed[2].epochs == whole[2].epochs
    assert resumed[0].state_dict() == whole[0].state_dict()


def test_lambdas_are_checked():
    with pytest.raises(ValueError, match=r"^lambda1 must be above lambda2 \(0.2\), got 0.1$"):
        NonparametricStep(CountedUpdates(), [], AnchorCount(at_most=20), lambda1=0.1, lambda2=0.2)
