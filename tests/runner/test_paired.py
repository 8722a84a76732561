"""Differences to the reference row: computed by hand, over the same users, and blank wherever that is not certain."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runner_samples import make_record

from gossamer.runner.experiment import Experiment, read_experiment
from gossamer.runner.paired import difference_to_reference
from gossamer.runner.per_user import PerUser
from gossamer.runner.records import Record
from gossamer.runner.specs import PairedSpec


@pytest.fixture
def experiment(tiny_file: Path) -> Experiment:
    return replace(read_experiment(tiny_file), paired=PairedSpec("ndcg@5", "popularity"))


def record(row: str, seed: int, *values: float | None, metric: str = "ndcg@5", held_out: str | None = None) -> Record:
    return make_record(row=row, seed=seed, per_user=PerUser(metric, held_out or f"fold {seed}", values))


REFERENCE = [record("popularity", 0, 0.2, 0.4, None), record("popularity", 1, 0.1)]
OURS = [record("ease", 0, 0.5, 0.4, None), record("ease", 1, 0.4)]


def test_all_users_of_all_folds_count_once(experiment: Experiment) -> None:
    difference = difference_to_reference(experiment, experiment.row("ease"), OURS + REFERENCE)
    assert difference is not None
    # Differences .3, 0, .3: mean .2, deviations .1, -.2, .1, variance .06 / 2, error √(.03 / 3).
    assert difference.mean == pytest.approx(0.2)
    assert difference.standard_error == pytest.approx(0.1)
    assert difference == difference_to_reference(experiment, experiment.row("ease"), [*REFERENCE[::-1], *OURS[::-1]])


def test_users_whom_every_seed_tests_count_once_by_their_mean(experiment: Experiment) -> None:
    records = [
        record("popularity", 0, 0.2, 0.4, held_out="all"),
        record("popularity", 1, 0.0, 0.4, held_out="all"),
        record("ease", 0, 0.5, 0.4, held_out="all"),
        record("ease", 1, 0.5, 0.6, held_out="all"),
    ]
    difference = difference_to_reference(experiment, experiment.row("ease"), records)
    assert difference is not None
    # Differences of means .4 and .1: mean .25, deviations ±.15, error √(.045 / 2).
    assert difference.mean == pytest.approx(0.25)
    assert difference.standard_error == pytest.approx(0.15)


@pytest.mark.parametrize(
    "records",
    [
        [],
        OURS,
        REFERENCE,
        [OURS[0], *REFERENCE],
        [*OURS, REFERENCE[1]],
        [OURS[0], record("ease", 1, 0.4, held_out="others"), *REFERENCE],
        [OURS[0], record("ease", 1, 0.4, metric="recall@2"), *REFERENCE],
        [OURS[0], record("ease", 1, 0.4, 0.5), *REFERENCE],
        [OURS[0], make_record(row="ease", seed=1), *REFERENCE],
        [*OURS, REFERENCE[0], make_record(row="popularity", seed=1)],
    ],
    ids=[
        "no records",
        "no reference",
        "no row",
        "a fold of the row is missing",
        "a fold of the reference is missing",
        "other users",
        "another metric",
        "another number of users",
        "a record of the row without users",
        "a record of the reference without users",
    ],
)
def test_what_is_not_certain_stays_blank(experiment: Experiment, records: list[Record]) -> None:
    assert difference_to_reference(experiment, experiment.row("ease"), records) is None


def test_metrics_of_both_rows_must_be_the_one_that_is_compared(experiment: Experiment) -> None:
    records = [record(row, seed, 0.5, metric="recall@2") for row in ("ease", "popularity") for seed in (0, 1)]
    assert difference_to_reference(experiment, experiment.row("ease"), records) is None


def test_only_seeds_of_the_experiment_count(experiment: Experiment) -> None:
    more = [record("ease", 7, 0.9), record("popularity", 7, 0.1)]
    with_more = difference_to_reference(experiment, experiment.row("ease"), OURS + REFERENCE + more)
    assert with_more == difference_to_reference(experiment, experiment.row("ease"), OURS + REFERENCE)


def test_nothing_is_compared_with_itself_or_where_nobody_asks(experiment: Experiment) -> None:
    assert difference_to_reference(experiment, experiment.row("popularity"), OURS + REFERENCE) is None
    unpaired = replace(experiment, paired=None)
    assert difference_to_reference(unpaired, experiment.row("ease"), OURS + REFERENCE) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pairs=st.lists(st.tuples(*[st.floats(0, 1).map(lambda value: round(value, 5))] * 2), min_size=2, max_size=30),
    cut=st.integers(0, 30),
)
def test_folds_do_not_matter_and_the_reverse_is_minus_it(
    experiment: Experiment, pairs: list[tuple[float, float]], cut: int
) -> None:
    def records(columns: tuple[int, int]) -> list[Record]:
        return [
            record(row, seed, *(pair[column] for pair in part))
            for row, column in zip(("ease", "popularity"), columns, strict=True)
            for seed, part in enumerate((pairs[:cut], pairs[cut:]))
        ]

    ours, theirs = np.array(pairs).T
    difference = difference_to_reference(experiment, experiment.row("ease"), records((0, 1)))
    reverse = difference_to_reference(experiment, experiment.row("ease"), records((1, 0)))
    assert difference is not None
    assert reverse is not None
    assert difference.mean == pytest.approx(ours.mean() - theirs.mean(), abs=1e-12)
    # Var(a − b) = Var a + Var b − 2 Cov(a, b)
    covariance = np.cov(ours, theirs)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert difference.standard_error == pytest.approx(math.sqrt(max(0.0, variance) / len(pairs)), abs=1e-7)
    assert reverse.mean == -difference.mean
    assert reverse.standard_error == pytest.approx(difference.standard_error)
