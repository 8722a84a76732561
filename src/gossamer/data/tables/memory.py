"""Tables whose columns have types: Parquet files, and polars, pandas or Arrow tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from gossamer.data.tables.chunk import Chunk
from gossamer.data.text_files import FilePath, check_exists, file_name, readable

ROWS_PER_CHUNK = 1 << 20


class FrameTable:
    """A polars, pandas or Arrow table in memory, walked through in slices."""

    is_text = False

    def __init__(self, source: Any) -> None:
        self.name = "table"
        self._source = source
        self._is_pandas = hasattr(source, "iloc")
        if self._is_pandas:
            # Converted when the columns are known: an unused column of odd objects must not stop the reader.
            self.columns = [str(name) for name in source.columns]
        else:
            self._source = _polars_frame(source)
            self.columns = self._source.columns

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices, which share the memory of the table."""
        if self._is_pandas:
            frame = _polars_frame_of_pandas(self._source, [self.columns.index(name) for name in columns])
        else:
            frame = self._source.select(columns)
        for start in range(0, frame.height, ROWS_PER_CHUNK):
            yield Chunk(frame[start : start + ROWS_PER_CHUNK], _row_placer(self.name, start))


class ParquetTable:
    """A Parquet file, read a slice at a time.

    Slices and not batches of the streaming engine: on a file with one row group of twenty million rows the
    former peaked at 0.3 GB and the latter at 0.56 GB (polars 2.1).

    Truncated and damaged files are refused with a sentence, but for one fault that nothing in Python can catch: damage
    inside a page can make polars ask for 2⁶¹ bytes, and a failed allocation in Rust aborts the process.
    """

    is_text = False

    def __init__(self, path: FilePath) -> None:
        self.path = check_exists(path)
        self.name = file_name(path)
        with readable(self.name):
            scan = self._scan()
            self.columns = scan.collect_schema().names()
            self.height = int(scan.select(pl.len()).collect().item())

    def _scan(self) -> pl.LazyFrame:
        # No globbing: a file called a[1].parquet is that file.
        return pl.scan_parquet(self.path, glob=False, hive_partitioning=False)

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices of the file; each is freed before the next is read."""
        for start in range(0, self.height, ROWS_PER_CHUNK):
            with readable(self.name):
                part = self._scan().select(columns).slice(start, ROWS_PER_CHUNK).collect()
            yield Chunk(part, _row_placer(self.name, start))


def _row_placer(name: str, start: int) -> Callable[[int], str]:
    return lambda row: f"{name}, row {start + row} (counted from 0)"


def _polars_frame(source: Any) -> pl.DataFrame:
    with readable("table"):
        if isinstance(source, pl.LazyFrame):
            return source.collect()
        if isinstance(source, pl.DataFrame):
            return source
        if hasattr(source, "__arrow_c_stream__"):
            return pl.DataFrame(_ArrowStream(source))
    kind = f"{type(source).__module__}.{type(source).__name__}"
    raise ValueError(f"source must be a path or a polars, pandas or Arrow table, got {kind}")


class _ArrowStream:
    """Hides the type of a table, so that polars takes the plain Arrow stream and needs no pyarrow."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)


def _polars_frame_of_pandas(source: Any, positions: Sequence[int]) -> pl.DataFrame:
    chosen = source.iloc[:, list(positions)]
    with readable("table"):
        try:
            frame = pl.DataFrame(_ArrowStream(chosen.reset_index(drop=True)))
        except (ImportError, AttributeError):  # pandas exports to Arrow from 2.2 on, and only beside pyarrow
            columns = [_series_of_pandas(str(chosen.columns[n]), chosen.iloc[:, n]) for n in range(len(positions))]
            return pl.DataFrame(columns)
        except (TypeError, ValueError) as fault:
            raise ValueError(f"table must have one type in each column, got: {fault}") from None
    return frame


def _series_of_pandas(name: str, column: Any) -> pl.Series:
    """Convert one column without pyarrow; missing values of any kind become null."""
    missing = column.isna().to_numpy()
    if str(column.dtype).startswith("datetime64"):
        return pl.Series(name, np.asarray(column, dtype="datetime64[us]"))  # a time zone is resolved to UTC
    values = column.to_numpy()
    if values.dtype.kind in "iufb":
        return pl.Series(name, values)
    plain = [None if gone else value for gone, value in zip(missing, values.tolist(), strict=True)]
    try:
        return pl.Series(name, plain)
    except TypeError as fault:
        raise ValueError(f"table must have one type in column {name!r}, got: {fault}") from None
