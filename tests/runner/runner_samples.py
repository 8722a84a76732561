"""What the runner's tests are made of: a file of interactions and a record with everything in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gossamer.runner.records import Record


def make_record(**changes: Any) -> Record:
    values: dict[str, Any] = {
        "experiment": "tiny",
        "row": "ease",
        "method": "EASE",
        "model": "ease",
        "seed": 0,
        "commit": "0" * 40,
        "dirty": False,
        "date": "2026-01-01T00:00:00+00:00",
        "machine": {"cores": 2},
        "versions": {"gossamer": "0"},
        "data": {"name": "x", "checksum": "abc"},
        "split": {"kind": "users"},
        "settings": {"l2": 1.0},
        "search": None,
        "seconds": 1.5,
        "peak_rss_bytes": 123_000_000,
        "metrics": {"recall@2": 0.5, "ndcg@5": 0.4},
        "standard_error": {"recall@2": 0.01, "ndcg@5": 0.02},
        "paper": {},
        "peer": {},
        "code": "hash",
    }
    return Record(**values | changes)


def write_blocks(path: Path) -> Path:
    """Write a CSV of 40 users in two blocks, each of whom has five of the eight items of their block."""
    generator = np.random.default_rng(0)
    lines = ["user,item,rating"]
    for user in range(40):
        block = "ab"[user % 2]
        lines += [f"u{user},{block}{item},{1 + item % 5}" for item in generator.permutation(8)[:5]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
