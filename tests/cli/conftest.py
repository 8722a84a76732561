"""A command line in this process: arguments in; exit code, standard output and standard error out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import COLUMNS, Done, Gossamer

from gossamer.cli.app import main


@pytest.fixture
def gossamer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Gossamer:
    """Run `gossamer` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GOSSAMER_DEBUG", raising=False)

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return Done(int(exit_info.value.code or 0), written.out, written.err)

    return run


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Return a CSV with its own column names: 60 users in two blocks, most of whose block's items they rate."""
    generator = np.random.default_rng(0)
    lines = ["userId,movieId,stars"]
    for user in range(60):
        block = "ab"[user % 2]
        lines += [f"u{user},{block}{item},{3 + item % 3}" for item in generator.permutation(10)[:7]]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def artifact(gossamer: Gossamer, ratings: Path) -> Path:
    """Return a model fitted on the CSV."""
    done = gossamer("fit", "item-knn", "--data", ratings.name, *COLUMNS, "--out", "model", "--set", "num_neighbours=5")
    assert done.code == 0, done.err
    return ratings.parent / "model"
