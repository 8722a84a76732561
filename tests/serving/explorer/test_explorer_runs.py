"""The Pareto front by definition, and records as they lie in a folder."""

from __future__ import annotations

import json

import pytest
from explorer_samples import record
from hypothesis import given
from hypothesis import strategies as st

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.runs import Runs, pareto_front

POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)


@given(POINTS, st.booleans())
def test_the_front_is_what_nothing_beats(points, lower):
    costs, qualities = [cost for cost, _ in points], [quality for _, quality in points]

    def beats(one, other):
        better = (lambda a, b: a < b) if lower else (lambda a, b: a > b)
        as_good = one[1] == other[1] or better(one[1], other[1])
        return one[0] <= other[0] and as_good and (one[0] < other[0] or better(one[1], other[1]))

    expected = {place for place, point in enumerate(points) if not any(beats(other, point) for other in points)}
    assert pareto_front(costs, qualities, lower) == expected


def test_experiments_have_costs_and_metrics(results):
    (found,) = Runs(results).experiments()
    assert found.name == "tiny"
    assert found.rows == 4
    assert found.costs == ["values", "seconds", "peak_rss_bytes"]
    assert [(metric.name, metric.lower_is_better) for metric in found.metrics] == [("test_mse", True)]


def test_a_trade_is_the_mean_over_seeds(results):
    trade = Runs(results).trade("tiny", "values", "test_mse")
    points = {point.row: point for point in trade.points}
    assert (points["ant-small"].x, points["ant-small"].y) == (110, pytest.approx(0.85))
    assert points["ant-small"].seeds == 2
    assert {row for row, point in points.items() if point.is_best} == {"ant-small", "dense-large"}
    assert trade.left_out == 1


def test_new_records_are_seen(tmp_path):
    runs = Runs(tmp_path)
    assert runs.experiments() == []
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "a.0.json").write_text(json.dumps(record("a", 0, values=1, recall=0.5)))
    assert [one.rows for one in runs.experiments()] == [1]


def test_a_record_that_goes_while_it_is_looked_for_is_left_out(tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "a.0.json").write_text(json.dumps(record("a", 0, values=1, recall=0.5)))
    (tmp_path / "tiny" / "gone.0.json").symlink_to(tmp_path / "absent.json")  # is listed, and is not there
    assert [one.rows for one in Runs(tmp_path).experiments()] == [1]


@pytest.mark.parametrize("experiment", ["absent", "tiny"])
def test_runs_that_do_not_exist(results, experiment):
    with pytest.raises(NotFound, match=r"no runs of|No run of"):
        Runs(results).trade(experiment, "bytes", "test_mse")


def test_no_folder_no_runs(tmp_path):
    assert Runs(tmp_path / "absent").experiments() == []
    assert Runs(None).experiments() == []
