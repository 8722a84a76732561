from __future__ import annotations

from pathlib import Path

import pytest
from reading_samples import FRAME, ROWS, as_rows

from gossamer.data.readers import read_interactions


def test_tables_in_memory() -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pyarrow.table({name: FRAME[name].to_list() for name in FRAME.columns})
    frame = pandas.DataFrame(ROWS, columns=FRAME.columns, index=[7, 8, 9])
    reader = pyarrow.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches())
    for table in (FRAME, FRAME.lazy(), arrow, reader, frame):
        assert as_rows(read_interactions(table)) == set(ROWS)


def test_pandas_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")

    def refuse(self: object, requested_schema: object = None) -> object:
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pandas.DataFrame, "__arrow_c_stream__", refuse)
    frame = pandas.DataFrame(ROWS, columns=FRAME.columns)
    frame["odd"] = [object(), {}, 3]
    assert as_rows(read_interactions(frame)) == set(ROWS)
    frame["timestamp"] = pandas.to_datetime(frame["timestamp"], unit="s").dt.tz_localize("UTC")
    frame["user_id"] = frame["user_id"].astype("category")
    frame["rating"] = frame["rating"].astype("Float64")
    assert as_rows(read_interactions(frame)) == set(ROWS)
    frame.loc[1, "user_id"] = None
    with pytest.raises(ValueError, match=r"table, row 1 \(counted from 0\): user_id must be an id, got nothing"):
        read_interactions(frame)
    frame["item_id"] = [1, "a", 2]
    with pytest.raises(ValueError, match="table must have one type in column 'item_id'"):
        read_interactions(frame)


def test_pandas_with_mixed_types_and_pyarrow() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="table must have one type in each column"):
        read_interactions(pandas.DataFrame({"user": [1, "a"], "item": [1, 2]}))


def test_other_objects_are_refused() -> None:
    with pytest.raises(ValueError, match=r"source must be a path or a polars, pandas or Arrow table, got builtins.int"):
        read_interactions(3)


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"user,item\n1,2\n" * 10):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a.parquet must be readable, got: .*; is the file complete"):
            read_interactions(path)


def test_brackets_in_a_file_name_are_no_pattern(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a[1].parquet")
    assert as_rows(read_interactions(tmp_path / "a[1].parquet")) == set(ROWS)
