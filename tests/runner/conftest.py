"""Small experiments for the runner's tests: a tiny file of interactions and the text of an experiment file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

TOML = """# gossamer reproduce tiny
name = "tiny"
title = "Two blocks of users"
metrics = ["recall@2", "ndcg@5"]
seeds = [0, 1]

[data]
name = "{data}"
min_per_user = 2

[split]
kind = "users"
num_valid = 6
num_test = 6

[[row]]
name = "popularity"
method = "Popularity"
model = "popularity"
[row.paper]
"ndcg@5" = 0.25

[[row]]
name = "ease"
method = "EASE"
model = "ease"
[row.search]
kind = "grid"
metric = "ndcg@5"
[row.search.space]
l2 = [1.0, 10.0]
"""


def write_blocks(path: Path) -> Path:
    """Write a CSV of 40 users in two blocks, each of whom has five of the eight items of their block."""
    generator = np.random.default_rng(0)
    lines = ["user,item,rating"]
    for user in range(40):
        block = "ab"[user % 2]
        lines += [f"u{user},{block}{item},{1 + item % 5}" for item in generator.permutation(8)[:5]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def blocks_file(tmp_path: Path) -> Path:
    return write_blocks(tmp_path / "blocks.csv")


@pytest.fixture
def tiny_file(tmp_path: Path, blocks_file: Path) -> Path:
    """An experiment file in an `experiments` folder of its own, so that results lie beside it."""
    path = tmp_path / "experiments" / "linear" / "tiny.toml"
    path.parent.mkdir(parents=True)
    path.write_text(TOML.format(data=blocks_file.as_posix()), encoding="utf-8")
    return path
