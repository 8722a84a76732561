from __future__ import annotations

import math

import numpy as np
import pytest

from gossamer.report.blocks import Estimate, Facts, Fold, Hit, KeyNumbers, Table, Text
from gossamer.report.numbers import format_bytes
from gossamer.report.tables import cell_of, explanation_blocks, fact_of, show_table


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in show_table(table).rows]


def test_columns_are_those_of_all_rows_and_missing_cells_are_dashes():
    shown = show_table(Table([{"model": "a", "x": 1}, {"model": "b", "y": 2.5}]))
    assert shown.columns == ["model", "x", "y"]
    assert shown.is_number == [False, True, True]
    assert texts(Table([{"model": "a", "x": 1}, {"model": "b", "y": 2.5}])) == [["a", "1", "–"], ["b", "–", "2.500"]]


def test_one_precision_per_column_and_formats_by_name():
    rows = [{"x": 0.05, "size": 2048}, {"x": 12.3456, "size": 10}]
    assert texts(Table(rows, formats={"size": format_bytes})) == [["0.05", "2.0 KiB"], ["12.35", "10 B"]]


@pytest.mark.parametrize(
    ("goal", "winners"), [("max", [False, True, True, False]), ("min", [True, False, False, False])]
)
def test_best_marks_every_winner_and_never_a_missing_value(goal, winners):
    rows = [{"x": Estimate(value, 0, 1)} for value in (0.1, 0.5, 0.5, math.nan)]
    assert [row[0].is_best for row in show_table(Table(rows, best={"x": goal})).rows] == winners


def test_one_row_is_not_the_best_of_anything():
    assert not show_table(Table([{"x": 1.0}], best={"x": "max"})).rows[0][0].is_best


def test_best_must_be_known():
    with pytest.raises(ValueError, match="best must be one of 'max', 'min', got 'largest'"):
        show_table(Table([{"x": 1.0}], best={"x": "largest"}))


def test_cells_of_every_kind():
    assert cell_of(np.float32(0.5)).text == "0.5000"
    assert cell_of(np.array([1, 2])).parts == ["1", "2"]
    assert cell_of(np.bool_(True)).text == "yes"
    assert cell_of(Hit("tea")).is_hit
    assert cell_of(Estimate(0.5, 0.4, 0.6)).interval == "0.4000 to 0.6000"
    assert cell_of(Estimate(0.5, math.nan, math.nan)).interval == ""
    assert cell_of({"a": 1.0, "b": [2, 3]}).parts == ["a: 1", "b: 2 3"]
    assert cell_of([("tea", 0.512345)]).parts == ["tea 0.512"]
    assert cell_of([]).text == "–"
    assert cell_of(1 + 2j).text == "(1+2j)"
    assert cell_of(list(range(60))).parts[-1] == "and 10 more"
    assert cell_of(dict.fromkeys(range(60))).parts[-1] == "and 10 more"
    assert fact_of([0.01, 1e-6]).parts == ["0.01", "1e-06"]


def test_explanations_become_folds_of_tables():
    rows = [{"item": "tea", "similar": ["jam"]}]
    blocks = explanation_blocks(
        {"similar_items": rows, "by_item": {"json.dumps": rows}, "settings": {"l2": 1}, "depth": 3, "why": "because"}
        | {"empty": [], "names": ["a", "b"]}
    )
    assert blocks == [
        KeyNumbers({"Depth": 3}),
        Fold("Similar items", [Table(rows, caption="Similar items")]),
        Fold("By item", [Fold("json.dumps", [Table(rows, caption="json.dumps")])]),
        Fold("Settings", [Facts({"l2": 1})]),
        Fold("Why", [Text("because")]),
        Fold("Empty", [Facts({"Empty": []})]),
        Fold("Names", [Facts({"Names": ["a", "b"]})]),
    ]
