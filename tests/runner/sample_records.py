"""A record with everything in it, for tests to vary."""

from __future__ import annotations

from typing import Any

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
