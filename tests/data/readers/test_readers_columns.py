from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reading_samples import FRAME, as_rows, write

from gossamer.data import Interactions
from gossamer.data.readers import read_interactions


def test_columns_are_mapped_by_name_position_or_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", "when,who,what,how\n1,ann,tea,2\n2,bob,jam,3\n")
    data = read_interactions(path, columns={"user": "who", "item": 2, "rating": "how", "time": "when"})
    assert as_rows(data) == {("ann", "tea", 2.0, 1), ("bob", "jam", 3.0, 2)}
    assert read_interactions(FRAME, columns={"rating": None, "time": None}).rating is None
    with pytest.raises(
        ValueError, match=r"log.csv must have a column of user ids, got the columns 'when', 'who', 'what'"
    ):
        read_interactions(path)
    with pytest.raises(
        ValueError, match=r"columns\['user'\] must be a column of .*log.csv, got 'nobody'; it has 'when'"
    ):
        read_interactions(path, columns={"user": "nobody"})
    with pytest.raises(ValueError, match="columns must map user, item, rating, time, got the key 'weight'"):
        read_interactions(path, columns={"weight": "how"})
    with pytest.raises(ValueError, match="columns must name a different column for each role"):
        read_interactions(path, columns={"user": "who", "item": "who"})


def test_usual_names_in_any_spelling() -> None:
    for user, item in [("userId", "movieId"), ("User-ID", "ISBN"), ("uid", "Item ID")]:
        columns = {"item": item} if item == "ISBN" else None
        assert read_interactions(pl.DataFrame({user: [1], item: [2]}), columns=columns).shape == (1, 1)


def test_times_are_whole_seconds(tmp_path: Path) -> None:
    moment = datetime(2009, 2, 13, 23, 31, 30, tzinfo=UTC)
    for values in ([1234567890], [1234567890.9], [moment], [moment.replace(tzinfo=None)]):
        data = read_interactions(pl.DataFrame({"user": [1], "item": [1], "time": values}))
        assert data.time.tolist() == [1234567890]
    assert read_interactions(pl.DataFrame({"user": [1], "item": [1], "date": [date(1970, 1, 2)]})).time.tolist() == [
        86400
    ]
    texts = ["1234567890", "1234567890.5", "2009-02-13 23:31:30", "2009-02-13T23:31:30Z", "2009-02-13T23:31:30.25"]
    body = "".join(f"1,{row},{text}\n" for row, text in enumerate([*texts, "1970-01-02"]))
    data = read_interactions(write(tmp_path / "a.csv", "user,item,time\n" + body))
    assert data.time.tolist() == [1234567890] * 5 + [86400]


def test_typed_columns_are_checked() -> None:
    def read(**columns: Any) -> Interactions:
        return read_interactions(pl.DataFrame({"user": [1, 2], "item": [1, 2], **columns}, strict=False))

    assert list(read(user=[1.0, 2.0]).users) == [1, 2], "what pandas makes of integers"
    assert list(read(user=pl.Series(["a", "b"], dtype=pl.Categorical)).users) == ["a", "b"]
    for columns, message in [
        ({"user": [1, None]}, "table, row 1 .*: user must be a 64-bit integer, got nothing"),
        ({"user": ["a", None]}, "table, row 1 .*: user must be an id, got nothing"),
        ({"user": [None, None]}, "table, row 0 .*: user must be an id, got nothing"),
        ({"user": [1.0, 2.5]}, "table, row 1 .*: user must be an id, got 2.5"),
        ({"user": [1.0, float("nan")]}, "row 1 .*: user must be an id, got nan"),
        ({"user": [True, False]}, "user must be strings or integers, got Boolean"),
        ({"user": pl.Series([1, 2**64 - 1], dtype=pl.UInt64)}, "row 1 .*: user must be a 64-bit integer"),
        ({"rating": [1.0, None]}, "row 1 .*: rating must be a finite number, got nothing"),
        ({"rating": [date(2020, 1, 1)] * 2}, "rating must be numbers, got Date"),
        ({"time": [1.0, float("nan")]}, "row 1 .*: time must be a time in seconds"),
        ({"time": [[1], [2]]}, "time must be seconds or dates, got List"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(**columns)
