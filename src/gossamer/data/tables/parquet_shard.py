"""One process's share of a directory of Parquet files: some of its row groups, or the rows of some ids."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Int64

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.data.tables.chunk import Chunk, Table
from gossamer.data.text_files import FilePath, file_name


@dataclass(frozen=True)
class RowGroup:
    """A row group of a Parquet file, the smallest part of it that is read alone."""

    path: Path
    index: int
    first_row: int
    num_rows: int


class ParquetShard:
    """The row groups of a directory's Parquet files that process `rank` of `world_size` reads, one in memory at a time.

    Files come in the order of their names. Row groups are dealt out in an order drawn from `random_state`, each to the
    process with the fewest rows so far: every process works out the same deal, no two read the same group, and shares
    differ by one row group at most. The deal does not depend on the epoch.
    """

    is_text = False

    def __init__(
        self, directory: FilePath, *, rank: int = 0, world_size: int = 1, random_state: RandomState = 0
    ) -> None:
        check_int("world_size", world_size, at_least=1)
        check_int("rank", rank, at_least=0, at_most=world_size - 1)
        self.name = file_name(directory)
        groups, self.columns = _find_row_groups(Path(directory))
        if len(groups) < world_size:  # said by every process alike, so that none waits for one that has failed
            raise ValueError(f"{directory} must have a row group for each of {world_size} processes, got {len(groups)}")
        self.groups = deal_row_groups(groups, world_size, random_state)[rank]

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Yield the share's row groups, each freed before the next is read."""
        for group in self.groups:
            with _intact(group.path):
                read = _parquet().ParquetFile(group.path).read_row_group(group.index, columns=list(columns))
            yield Chunk(pl.DataFrame(read).select(columns), _row_placer(group))


class OwnRows:
    """The rows of a table whose id in `column` belongs to process `rank` (`owners_of`), so that no id is divided."""

    def __init__(self, table: Table, column: str, *, rank: int, world_size: int) -> None:
        self.name, self.columns, self.is_text = table.name, table.columns, table.is_text
        self._table, self._column, self._rank, self._world_size = table, column, rank, world_size

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Yield what each chunk has of this process's ids."""
        for chunk in self._table.chunks(list(dict.fromkeys([*columns, self._column]))):
            kept = np.flatnonzero(owners_of(chunk.frame[self._column], self._world_size) == self._rank)
            yield Chunk(chunk.frame[kept].select(columns), _kept_placer(chunk, kept))


def deal_row_groups(groups: Sequence[RowGroup], world_size: int, random_state: RandomState = 0) -> list[list[RowGroup]]:
    """Return the row groups of each process, in the order of the files."""
    shares: list[list[int]] = [[] for _ in range(world_size)]
    rows = np.zeros(world_size, dtype=np.int64)
    for number in numpy_generator(random_state).permutation(len(groups)):
        poorest = int(rows.argmin())
        shares[poorest].append(int(number))
        rows[poorest] += groups[number].num_rows
    return [[groups[number] for number in sorted(share)] for share in shares]


def owners_of(ids: pl.Series, world_size: int) -> Int64[np.ndarray, " n"]:
    """Return the process that owns each id: a hash of the id alone, the same on every machine and in every version.

    >>> owners_of(pl.Series(["ann", "bob", "ann"]), 2).tolist()
    [1, 0, 1]
    """
    if ids.dtype.is_integer():
        # A multiplication spreads ids that are all even, or that begin with the same digits.
        mixed = ids.fill_null(0).cast(pl.Int64).to_numpy().view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return ((mixed >> np.uint64(32)) % np.uint64(world_size)).astype(np.int64)
    texts = ids.cast(pl.String).fill_null("")
    different = texts.unique()
    owner = [zlib.crc32(text.encode()) % world_size for text in different]
    return texts.replace_strict(different, pl.Series(owner, dtype=pl.Int64)).to_numpy()


def _find_row_groups(directory: Path) -> tuple[list[RowGroup], list[str]]:
    """Return all row groups of a directory and the columns that its files share."""
    if not directory.is_dir():
        found = "a file" if directory.exists() else "none"
        raise ValueError(f"{directory} must be a directory of Parquet files, got {found}")
    paths = sorted(path for ending in ("parquet", "pq") for path in directory.glob(f"*.{ending}"))
    if not paths:
        raise ValueError(f"{directory} must hold files named *.parquet, got none")
    groups: list[RowGroup] = []
    columns: list[str] = []
    for path in paths:
        with _intact(path):
            metadata = _parquet().ParquetFile(path).metadata
            names = list(metadata.schema.to_arrow_schema().names)
        if columns and names != columns:
            raise ValueError(f"{path} must have the columns of {paths[0].name}, {columns}, got {names}")
        columns, first = names, 0
        for index in range(metadata.num_row_groups):
            num_rows = metadata.row_group(index).num_rows
            groups.append(RowGroup(path, index, first, num_rows))
            first += num_rows
    return groups, columns


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Turn what pyarrow says of a damaged file into one sentence that names it."""
    try:
        yield
    except (OSError, ValueError) as fault:  # all of pyarrow's errors are one of these
        reason = (str(fault).strip().splitlines() or [type(fault).__name__])[0]
        raise ValueError(f"{path} must be a whole Parquet file, got: {reason}") from None


def _row_placer(group: RowGroup) -> Callable[[int], str]:
    return lambda row: f"{group.path}, row {group.first_row + row} (counted from 0)"


def _kept_placer(chunk: Chunk, kept: np.ndarray) -> Callable[[int], str]:
    return lambda row: chunk.place(int(kept[row]))


def _parquet() -> Any:
    """Return pyarrow's Parquet module: polars reads files, but does not say where their row groups begin."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("row groups need pyarrow; install it with: pip install 'gossamer[cluster]'") from error
    return pyarrow.parquet
