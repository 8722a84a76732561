"""Tiny data with two planted halves and one hostile name, and records of runs."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary

HOSTILE = "<img src=x onerror=document.title='owned'>"
NAMES = [*(f"fruit.apple{number}" for number in range(10)), *(f"metal.iron{number}" for number in range(9)), HOSTILE]
FRUIT, METAL = range(10), range(10, 20)


def halves() -> Interactions:
    """Return 60 users: the first half takes fruit, the second metal, each seven of ten."""
    generator = np.random.default_rng(0)
    users, items = [], []
    for user in range(60):
        for item in generator.permutation(10)[:7]:
            users.append(f"user{user}")
            items.append(NAMES[item + (0 if user < 30 else 10)])
    # Every other user likes every other item, which is what ratings can be learned from.
    likes = [(int(user[4:]) + NAMES.index(item)) % 2 for user, item in zip(users, items, strict=True)]
    ratings = 1 + 4 * np.array(likes, dtype=np.float32)
    return Interactions.from_pairs(users, items, ratings, item_ids=Vocabulary(NAMES))


def documents() -> Counts:
    """Return 80 documents, each over the words of one half."""
    generator = np.random.default_rng(1)
    counts = np.zeros((80, len(NAMES)), dtype=np.float32)
    for row in range(80):
        words = generator.integers(0, 10, 30) + (0 if row % 2 else 10)
        np.add.at(counts[row], words, 1)
    return Counts(sparse.csr_array(counts), Vocabulary(NAMES))


def series() -> Sequences:
    """Return 20 series that change between the halves every few steps."""
    generator = np.random.default_rng(2)
    rows = [generator.integers(0, 10, 5) + (10 if (phase + row) % 2 else 0) for row in range(20) for phase in range(6)]
    return Sequences(np.concatenate(rows), np.arange(0, 20 * 30 + 1, 30), vocabulary=Vocabulary(NAMES))


def pictures() -> LabelledArrays:
    generator = np.random.default_rng(3)
    targets = generator.integers(0, 2, 120)
    inputs = generator.standard_normal((120, 24)) + 2 * targets[:, None]
    return LabelledArrays(inputs.astype(np.float32), targets, target_names=["low", "high"])


def record(row: str, seed: int, **metrics: float) -> dict:
    empty = {
        name: {} for name in ("machine", "versions", "data", "split", "settings", "standard_error", "paper", "peer")
    }
    said = {"experiment": "tiny", "row": row, "method": row.split("-")[0], "model": "als", "seed": seed}
    rest = {"commit": None, "dirty": None, "date": "", "search": None, "seconds": 1.0 + seed, "peak_rss_bytes": 10}
    return {**said, **rest, **empty, "metrics": metrics, "code": "0"}
