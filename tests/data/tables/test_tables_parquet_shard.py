from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest

from gossamer.data.tables.parquet_shard import OwnRows, ParquetShard, RowGroup, deal_row_groups, owners_of


@pytest.fixture
def directory(tmp_path):
    for number in range(3):
        frame = pl.DataFrame({"id": np.arange(100) + 100 * number, "name": [f"n{i}" for i in range(100)]})
        frame.write_parquet(tmp_path / f"{number}.parquet", row_group_size=10)
    return tmp_path


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_every_row_is_read_by_one_process(directory, world_size):
    shards = [ParquetShard(directory, rank=rank, world_size=world_size) for rank in range(world_size)]
    read = [pl.concat([chunk.frame for chunk in shard.chunks(["id"])])["id"] for shard in shards]
    assert pl.concat(read).sort().to_list() == list(range(300))
    assert max(len(ids) for ids in read) - min(len(ids) for ids in read) <= 10
    assert all(ids.is_sorted() for ids in read)  # in the order of the files
    assert max(chunk.frame.height for chunk in shards[0].chunks(["id"])) <= 10  # one row group at a time


def test_row_groups_of_different_sizes_are_dealt_evenly(tmp_path):
    sizes = [1000, 10, 10, 10, 990, 20, 480, 500]
    groups = [RowGroup(tmp_path, number, 0, size) for number, size in enumerate(sizes)]
    for seed in range(5):
        shares = deal_row_groups(groups, 2, seed)
        assert sorted(group.index for share in shares for group in share) == list(range(8))
        assert abs(np.subtract(*[sum(group.num_rows for group in share) for share in shares])) <= max(sizes)


def test_own_rows_are_those_of_own_ids_and_know_their_place(directory):
    shards = [OwnRows(ParquetShard(directory), "id", rank=rank, world_size=2) for rank in (0, 1)]
    read = [[int(i) for chunk in shard.chunks(["name", "id"]) for i in chunk.frame["id"]] for shard in shards]
    assert sorted(read[0] + read[1]) == list(range(300))
    assert 100 < len(read[0]) < 200
    chunk = next(iter(shards[0].chunks(["name"])))
    assert chunk.frame.columns == ["name"]
    assert f"0.parquet, row {read[0][1]} (counted" in chunk.place(1)


@pytest.mark.parametrize("ids", [pl.Series(range(0, 2000, 2)), pl.Series([f"id {i}" for i in range(1000)])])
def test_owners_are_a_function_of_the_id_and_even(ids):
    owners = owners_of(ids, 4)
    assert np.bincount(owners).min() > 150
    assert (owners_of(ids.reverse(), 4)[::-1] == owners).all()


def test_mistakes(directory, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="must be a directory of Parquet files, got none"):
        ParquetShard(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="must be a directory of Parquet files, got a file"):
        ParquetShard(directory / "0.parquet")
    with pytest.raises(ValueError, match="must have a row group for each of 31 processes, got 30"):
        ParquetShard(directory, rank=0, world_size=31)
    with pytest.raises(ValueError, match="rank must be"):
        ParquetShard(directory, rank=2, world_size=2)
    (tmp_path / "3.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"3.parquet must be a whole Parquet file, got: "):
        ParquetShard(directory)
    pl.DataFrame({"id": [1]}).write_parquet(tmp_path / "3.parquet")
    with pytest.raises(ValueError, match=r"3.parquet must have the columns of 0.parquet, .*, got \['id'\]"):
        ParquetShard(directory)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"must hold files named \*.parquet, got none"):
        ParquetShard(tmp_path / "empty")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"need pyarrow; install it with: pip install 'gossamer\[cluster\]'"):
        ParquetShard(directory)
