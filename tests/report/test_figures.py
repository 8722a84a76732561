from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gossamer.report.figures import histogram, long_tail, metric_intervals, size_curves, training_curves


def test_long_tail_tells_who_holds_what():
    ranks, shares = long_tail(np.array([90] + [1] * 9 + [0] * 10), "terms", "tokens")
    assert ranks.title == "Tokens by rank"
    assert "10 terms" in ranks.alt
    assert "from 90 for the most frequent to 1 for the rarest" in ranks.alt
    # Two of the twenty are the top tenth: 91 of 99.
    assert "top 10.0 % hold 91.9 %" in shares.alt
    assert "top 10.0 % hold 91.9 %" in shares.svg


def test_long_tail_of_many_items_is_small():
    counts = np.random.default_rng(0).zipf(1.5, 200_000)
    assert sum(len(drawing.svg) for drawing in long_tail(counts)) < 60_000


@pytest.mark.parametrize("counts", [[], [0, 0], [math.nan], [5], [3, 3]])
def test_long_tail_of_little(counts, read_page):
    for drawing in long_tail(np.array(counts, dtype=float)):
        read_page(drawing.svg)


def test_losses_share_a_drawing_and_other_values_have_their_own():
    history = [{"epoch": 0, "loss": 2.0, "valid_loss": 3.0, "ndcg": 0.1}, {"epoch": 1, "loss": 1.0, "ndcg": None}]
    drawings = training_curves(history)
    assert [drawing.title for drawing in drawings] == ["losses", "ndcg"]
    assert drawings[0].alt == "loss over 2 epochs: from 2.000 to 1.000. valid_loss over 1 epochs: from 3.000 to 3.000."
    assert ">valid_loss</text>" in drawings[0].svg


def test_training_curves_of_nothing():
    assert training_curves([]) == ()
    assert training_curves([{"epoch": 0}]) == ()
    assert training_curves([{"_x": math.nan}, {"_x": math.inf}])[0].alt == "_x: no values."


def test_intervals_have_one_drawing_per_metric_and_bold_best():
    table = {"a": {"recall": (0.5, 0.4, 0.6), "ndcg": (0.3, math.nan, math.nan)}, "b": {"recall": (0.7, 0.6, 0.8)}}
    recall, ndcg = metric_intervals(table)
    assert (recall.title, ndcg.title) == ("recall", "ndcg")
    assert "a 0.5000 (0.4000 to 0.6000); b 0.7000 (0.6000 to 0.8000)" in recall.alt
    assert recall.svg.count("font-weight: bold") + recall.svg.count("font-weight: 700") == 1
    assert "b – (– to –)" in ndcg.alt
    assert metric_intervals({}) == ()


def test_lowest_is_bold_where_lower_is_better():
    (drawing,) = metric_intervals({"a": {"mse": (0.5, 0.4, 0.6)}, "b": {"mse": (0.7, 0.6, 0.8)}}, {"mse": "min"})
    bold = drawing.svg[drawing.svg.index("font-weight") :]
    assert bold[: bold.index("</text>")].endswith("0.5000")


def test_histogram_has_a_bar_per_value_where_there_are_few():
    (drawing,) = histogram(np.array([1, 1, 5, math.nan]), "rating", "interactions")
    assert drawing.title == "Interactions by rating"
    assert drawing.alt == "Histogram of rating over 3 interactions: from 1 to 5, median 1."
    assert ">5</text>" in drawing.svg


@pytest.mark.parametrize("is_log", [True, False])
@pytest.mark.parametrize("values", [[], [0], [7] * 3, range(100), [1e-3, 2.0], np.linspace(0.1, 0.9, 50)])
def test_histogram_of_anything(values, is_log, read_page):
    for drawing in histogram(np.array(values, dtype=float), "length", is_log=is_log):
        read_page(drawing.svg)


numbers = arrays(np.float64, st.integers(0, 8), elements=st.floats(width=32))


@settings(max_examples=10)
@given(values=numbers, name=st.text(max_size=40))
def test_no_number_and_no_name_breaks_a_drawing(values, name, read_page):
    drawings = (
        *long_tail(values, name, name),
        *histogram(values, name, name, is_log=True),
        *training_curves([{name: value, "other loss": value, "loss": -value} for value in values]),
        *metric_intervals({f"{name}{row}": {name: (value, value - 1, value + 1)} for row, value in enumerate(values)}),
    )
    for drawing in drawings:
        read_page(drawing.svg)


def test_curves_of_size_name_every_method_and_point(read_page):
    drawing = size_curves("test_mse", {"dense": [(107_000, 0.75)], "ant": [(10_800, 0.8), (59_400, 0.735)]})
    assert drawing.title == "test_mse by size"
    assert drawing.alt == (
        "test_mse against values stored: dense 0.7500 at 107,000; ant 0.8000 at 10,800, 0.7350 at 59,400."
    )
    for text in (">dense</text>", ">ant</text>", ">values stored</text>", ">test_mse</text>"):
        assert text in drawing.svg
    read_page(drawing.svg)
