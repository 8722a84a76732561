"""A few interactions, and ways to write and compare them, for the tests of the readers."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl

from gossamer.data import Interactions

ROWS = [("ann", "tea", 5.0, 30), ("bob", "jam", 3.5, 10), ("ann", "jam", 1.0, 20)]
FRAME = pl.DataFrame(ROWS, schema=["user_id", "item_id", "rating", "timestamp"], orient="row")
HEADER = "user,item,rating,time\n"


def as_rows(data: Interactions) -> set[tuple[Any, ...]]:
    users, items = data.pairs()
    values = [column for column in (data.rating, data.time) if column is not None]
    return {
        (data.users[u], data.items[i], *(column[n].item() for column in values))
        for n, (u, i) in enumerate(zip(users, items, strict=True))
    }


def write(path: Path, text: str | bytes) -> Path:
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
