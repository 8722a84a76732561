from __future__ import annotations

import itertools
from math import inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.embeddings.model_selection import TrainedRun, choose_run, pareto_front, preferences

# The four language models of tables 2 and 14.
PTB = [
    TrainedRun("2000", log(77.7), 245_000, 2000, 1e-6),
    TrainedRun("1000", log(79.4), 214_000, 1000, 1e-6),
    TrainedRun("500", log(84.5), 171_000, 500, 1e-6),
    TrainedRun("100", log(106.6), 25_000, 100, 1e-5),
]

runs_of_any_kind = st.lists(
    st.builds(
        TrainedRun,
        st.just("run"),
        st.floats(0.1, 5),
        st.integers(0, 10_000),
        st.integers(1, 12),
        st.sampled_from([1e-5, 1e-4]),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize(("lambda1", "chosen"), [(2e-5, "1000"), (1e-4, "500"), (1e-1, "100")])
def test_table_14_chooses_as_published(lambda1: float, chosen: str):
    assert choose_run(PTB, lambda1).name == chosen


def test_table_14_never_chooses_the_largest_model():
    """2000 anchors lower the perplexity by 1.7, which is less than what their entries cost."""
    assert [preference.run.name for preference in preferences(PTB)] == ["1000", "500", "100"]


def test_front_leaves_out_what_another_run_beats_in_both():
    runs = [
        TrainedRun("small", 1.0, 100, 2, 1e-3),
        TrainedRun("dominated", 1.0, 100, 4, 1e-3),
        TrainedRun("sparser", 0.9, 50, 4, 1e-3),
        TrainedRun("worse", 0.95, 100, 9, 1e-3),
    ]
    assert [run.name for run in pareto_front(runs)] == ["small", "sparser"]


@given(runs_of_any_kind)
def test_front_is_what_brute_force_finds(runs: list[TrainedRun]):
    def beats(a: TrainedRun, b: TrainedRun) -> bool:
        better = a.finite_objective < b.finite_objective or a.num_anchors < b.num_anchors
        return better and a.finite_objective <= b.finite_objective and a.num_anchors <= b.num_anchors

    expected = {(run.num_anchors, run.finite_objective) for run in runs if not any(beats(other, run) for other in runs)}
    assert {(run.num_anchors, run.finite_objective) for run in pareto_front(runs)} == expected


@given(runs_of_any_kind, st.floats(0, 1))
def test_preferences_are_what_choosing_at_every_lambda1_gives(runs: list[TrainedRun], where: float):
    found = preferences(runs)
    assert found[0].low == max(run.lambda2 for run in runs)
    assert found[-1].high == inf
    for one, next_one in itertools.pairwise(found):
        assert one.high == next_one.low
        assert one.run.num_anchors > next_one.run.num_anchors
    for preference in found:
        high = preference.high if preference.high < inf else preference.low + 1
        lambda1 = preference.low + where * (high - preference.low)
        if lambda1 > found[0].low:
            assert preference.run.objective(lambda1) == pytest.approx(choose_run(runs, lambda1).objective(lambda1))


def test_nothing_to_choose_from_is_said():
    for choose in (lambda: choose_run([], 0.1), lambda: pareto_front([]), lambda: preferences([])):
        with pytest.raises(ValueError, match=r"^runs must be at least one trained run, got none$"):
            choose()


def test_a_broken_run_is_named():
    with pytest.raises(ValueError, match=r"^loss must be a finite number, got nan$"):
        TrainedRun("diverged", float("nan"), 1, 1, 0.1)
