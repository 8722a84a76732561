from __future__ import annotations

from pathlib import Path

import pytest
from reading_samples import HEADER, write

from gossamer.data.readers import read_interactions, read_table
from gossamer.data.tables.opening import format_of


def test_options_are_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", HEADER + "1,2,3,4\n")
    with pytest.raises(ValueError, match="format must be one of 'csv'"):
        read_interactions(path, format="excel")
    with pytest.raises(ValueError, match="separator must be one ASCII character or '::', got 'ab'"):
        read_interactions(path, separator="ab")
    with pytest.raises(ValueError, match="encoding must be one of 'utf-8', 'latin-1', got 'utf-16'"):
        read_interactions(path, encoding="utf-16")
    with pytest.raises(ValueError, match=r"names must be 4 column names for .*a.csv, got"):
        read_table(path, names=["a"])


def test_feature_tables(tmp_path: Path) -> None:
    path = write(
        tmp_path / "movies.dat", "1::Am\xe9lie: the film (2001)::Comedy|Romance\n2::Heat::\n".encode("latin-1")
    )
    table = read_table(path, names=["id", "title", "genres"])
    assert table.rows() == [("1", "Amélie: the film (2001)", "Comedy|Romance"), ("2", "Heat", None)]
    piped = write(tmp_path / "u.user", "1|24|M\n")
    assert read_table(piped, format="csv", separator="|", names=["id", "age", "sex"]).rows() == [("1", "24", "M")]


def test_format_follows_the_ending() -> None:
    assert [format_of(name) for name in ("a.CSV", "b/c.tsv.gz", "d.pq", "e.inter")] == [
        "csv",
        "tsv",
        "parquet",
        "inter",
    ]
    with pytest.raises(ValueError, match=r"u.data must end in .csv, .*; for another ending say what it is"):
        format_of("u.data")
