from __future__ import annotations

import polars as pl

from gossamer.data.tables.chunk import Chunk


def test_faults_name_place_column_constraint_and_value() -> None:
    chunk = Chunk(pl.DataFrame({"rating": ["x", "", None, "y" * 500]}), lambda row: f"a.csv, line {row + 2}")
    assert str(chunk.fault(0, "rating", "a number")) == "a.csv, line 2: rating must be a number, got 'x'"
    assert str(chunk.fault(1, "rating", "a number")).endswith("got nothing")
    assert str(chunk.fault(2, "rating", "a number")).endswith("got nothing")
    assert len(str(chunk.fault(3, "rating", "a number"))) < 150
