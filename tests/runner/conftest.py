"""Small experiments for the runner's tests: a tiny file of interactions and the text of an experiment file."""

from __future__ import annotations

from pathlib import Path

import pytest
from document_samples import WordVotes, write_documents
from runner_samples import write_blocks

from gossamer.models import catalogue

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
regularization = [1.0, 10.0]
"""


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


@pytest.fixture
def documents_file(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "documents.csv")


@pytest.fixture
def word_votes(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name under which the catalogue has a model of documents for now."""
    models = catalogue.available() | {"word-votes": WordVotes}
    monkeypatch.setattr(catalogue, "available", lambda: models)
    return "word-votes"
