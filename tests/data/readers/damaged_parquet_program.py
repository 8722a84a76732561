"""Read damaged copies of a Parquet file, one per seed, and report each seed when it is done.

    python damaged_parquet_program.py FOLDER FIRST LAST

In a process of its own, because polars can abort the process on a damaged page, which nothing in Python can catch.
"""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path

import numpy as np
import polars as pl

from gossamer.data import Interactions
from gossamer.data.readers import read_interactions


def whole_parquet() -> bytes:
    buffer = io.BytesIO()
    rows = np.arange(200)
    table = pl.DataFrame({"user": rows % 7, "item": (rows % 5).astype(str), "time": rows})
    table.write_parquet(buffer, row_group_size=64)
    return buffer.getvalue()


def damaged(content: bytes, seed: int) -> bytes:
    draw = random.Random(seed)
    changed = bytearray(content)
    for _ in range(draw.randint(0, 4)):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed[: draw.choice([len(changed), draw.randrange(len(changed))])])


def main(folder: Path, first: int, last: int) -> None:
    whole, path = whole_parquet(), folder / "a.parquet"
    for seed in range(first, last):
        path.unlink(missing_ok=True)  # ext4 waits for the disk where a file is overwritten
        path.write_bytes(damaged(whole, seed))
        try:
            result = read_interactions(path)
        except ValueError as fault:
            assert str(fault)  # noqa: PT017
        else:
            assert isinstance(result, Interactions)
        print(seed, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
