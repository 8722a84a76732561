"""Adjacency lists: a user and all its items on one line, as LightGCN's data sets have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from gossamer.data.tables.chunk import Chunk
from gossamer.data.text_files import FilePath, file_name, read_blocks


class AdjacencyTable:
    """Lines `user item item …`, separated by blanks; a line with a user alone has no interaction."""

    is_text = True

    def __init__(self, path: FilePath, encoding: str = "utf-8") -> None:
        self.path = path
        self.name = file_name(path)
        self.encoding = encoding
        self.columns = ["user", "item"]

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Yield one row per (user, item)."""
        for first_line, block in read_blocks(self.path, encoding=self.encoding):
            lines = [line.split() for line in block.decode().split("\n")]
            lengths = np.array([max(0, len(line) - 1) for line in lines])
            users = [line[0] for line in lines for _ in line[1:]]
            items = [item for line in lines for item in line[1:]]
            frame = pl.DataFrame({"user": users, "item": items}, schema={"user": pl.String, "item": pl.String})
            ends = np.cumsum(lengths)

            def place(row: int, first_line: int = first_line, ends: np.ndarray = ends) -> str:
                return f"{self.name}, line {first_line + int(np.searchsorted(ends, row, side='right'))}"

            if frame.height:
                yield Chunk(frame.select(columns), place)
