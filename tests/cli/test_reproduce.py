"""`gossamer reproduce`: run, skip, list, rewrite tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Gossamer

from gossamer.runner import run
from gossamer.runner.run import run_row

TOML = """# gossamer reproduce small
name = "small"
title = "A small table"
metrics = ["ndcg@5"]
seeds = [0]
[data]
name = "ratings.csv"
columns = {user = "userId", item = "movieId", rating = "stars"}
[split]
kind = "users"
[[row]]
name = "popularity"
method = "Popularity"
model = "popularity"
[row.paper]
"ndcg@5" = 0.123
"""


@pytest.fixture
def home(ratings: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = ratings.parent
    (folder / "experiments").mkdir()
    (folder / "experiments" / "small.toml").write_text(TOML)
    (folder / "README.md").write_text("# Ours\n<!-- table: small -->\n<!-- /table -->\n")
    monkeypatch.setattr(run, "run_in_own_process", run_row)  # its own process has its own tests
    return folder


def test_a_record_is_written_once_and_shown_beside_the_paper(gossamer: Gossamer, home: Path) -> None:
    done = gossamer("reproduce", "small")
    assert done.code == 0, done.err
    assert "popularity, seed 0: done" in done.out
    assert "0.1230" in done.out
    assert (home / "results" / "small" / "popularity.0.json").is_file()
    assert "popularity, seed 0: already there" in gossamer("reproduce", "small", "--row", "popularity").out
    assert "popularity, seed 0: done" in gossamer("reproduce", "small", "--force").out
    assert "popularity, seed 7: done" in gossamer("reproduce", "small", "--seed", 7).out


def test_the_list_shows_what_is_done(gossamer: Gossamer, home: Path) -> None:
    done = gossamer("reproduce", "--list")
    assert done.code == 0, done.err
    assert "A small table" in done.out


def test_all_skips_what_has_no_data_here(gossamer: Gossamer, home: Path) -> None:
    text = TOML.replace("small", "absent").replace("ratings.csv", "gone.csv")
    (home / "experiments" / "absent.toml").write_text(text)
    done = gossamer("reproduce", "--all")
    assert done.code == 0, done.err
    assert "absent: skipped, because gone.csv is not on this machine" in done.out
    assert "popularity, seed 0: done" in done.out


def test_tables_are_rewritten(gossamer: Gossamer, home: Path) -> None:
    assert "README.md: rewritten" in gossamer("reproduce", "small", "--tables").out
    assert "README.md: already in step" in gossamer("reproduce", "--tables").out
    assert "| Popularity | gossamer | 1 |" in (home / "README.md").read_text()


def test_metric_against_size_is_drawn(gossamer: Gossamer, home: Path) -> None:
    text = TOML.replace("small", "sized").replace('["ndcg@5"]', '["ndcg@5", "values"]')
    (home / "experiments" / "sized.toml").write_text(text)
    done = gossamer("reproduce", "sized", "--plot", "sized.svg")
    assert done.code == 0, done.err
    assert "wrote sized.svg" in done.out
    assert ">Popularity</text>" in (home / "sized.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give the name of an experiment, or one of --list, --all and --tables"),
        (["small", "--all", "--tables"], "give the name of an experiment, or one of --list, --all and --tables"),
        (["--all", "--plot", "a.svg"], "--plot must come with the name of one experiment"),
        (
            ["small", "--plot", "a.svg"],
            "metrics of small must have values and a measure to plot against them",
        ),
        (["smal"], "experiment must be one of small or a .toml file, got 'smal'"),
        (["small", "--row", "ease"], "row must be one of popularity, got 'ease'"),
    ],
)
def test_mistakes_are_sentences(gossamer: Gossamer, home: Path, arguments: list[str], sentence: str) -> None:
    done = gossamer("reproduce", *arguments)
    assert done.code == 2
    assert sentence in done.err
