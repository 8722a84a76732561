from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from reading_samples import FRAME, ROWS, as_rows, write

from gossamer.data import Interactions, Vocabulary, text_files
from gossamer.data.readers import read_interactions
from gossamer.data.tables import memory


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "tsv.gz", "dat", "dat.gz", "inter", "inter.gz", "parquet"])
def test_every_format_gives_the_same_interactions(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"ratings.{ending}"
    kind = ending.removesuffix(".gz")
    if kind == "parquet":
        FRAME.write_parquet(path)
    else:
        separator = {"csv": ",", "dat": "::"}.get(kind, "\t")
        header = {
            "dat": [],
            "inter": [["user_id:token", "item_id:token", "rating:float", "timestamp:float"]],
        }.get(kind, [FRAME.columns])
        write(path, "".join(separator.join(map(str, row)) + "\n" for row in [*header, *ROWS]))
    data = read_interactions(path)
    assert as_rows(data) == set(ROWS)
    assert list(data.users) == ["ann", "bob"], "ids keep the order of their first appearance"
    assert list(data.items) == ["tea", "jam"]


def test_ids_of_a_text_become_integers_only_where_nothing_is_lost(tmp_path: Path) -> None:
    data = read_interactions(write(tmp_path / "a.csv", "user,item\n7,007\n8,7\n"))
    assert list(data.users) == [7, 8]
    assert list(data.items) == ["007", "7"]


def test_given_vocabularies_fix_order_and_size(tmp_path: Path) -> None:
    users, items = Vocabulary([3, 1, 2]), Vocabulary([9, 8])
    data = read_interactions(write(tmp_path / "a.csv", "user,item\n1,8\n"), user_ids=users, item_ids=items)
    assert data.users is users
    assert data.indptr.tolist() == [0, 0, 1, 1]
    assert data.indices.tolist() == [1]


def test_duplicates_follow_the_rule() -> None:
    table = pl.DataFrame({"user": [1, 1], "item": [2, 2], "rating": [3.0, 4.0]})
    assert [read_interactions(table, duplicates=rule).rating.tolist() for rule in ("first", "last", "sum")] == [
        [3.0],
        [4.0],
        [7.0],
    ]
    assert read_interactions(table.drop("rating"), duplicates="sum").rating.tolist() == [2.0]
    with pytest.raises(ValueError, match="must not repeat"):
        read_interactions(table, duplicates="error")
    with pytest.raises(ValueError, match="duplicates must be one of"):
        read_interactions(table, duplicates="mean")


def test_many_blocks_and_slices_give_what_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "user": [f"u{n}" for n in generator.integers(40, size=700)],
            "item": generator.integers(60, size=700),
            "rating": generator.integers(1, 6, size=700).astype(np.float64),
            "time": generator.integers(1000, size=700),
        }
    )
    table.write_csv(tmp_path / "a.csv", quote_style="always")
    table.write_parquet(tmp_path / "a.parquet", row_group_size=50)
    whole = Interactions.from_pairs(table["user"], table["item"], table["rating"], table["time"])
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 100)
    monkeypatch.setattr(memory, "ROWS_PER_CHUNK", 33)
    for source in (tmp_path / "a.csv", tmp_path / "a.parquet", table):
        assert read_interactions(source).fingerprint() == whole.fingerprint()


def test_a_file_that_changes_between_the_passes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = iter([pl.DataFrame({"user": [1], "item": [1]}), pl.DataFrame({"user": [1, 1], "item": [1, 1]})])
    original = memory.FrameTable.chunks

    def chunks(self: memory.FrameTable, columns: list[str]) -> Any:
        self._source = next(frames)
        return original(self, columns)

    monkeypatch.setattr(memory.FrameTable, "chunks", chunks)
    with pytest.raises(ValueError, match="table must stay the same while it is read, got other rows"):
        read_interactions(FRAME.rename({"user_id": "user", "item_id": "item"}).select("user", "item"))
