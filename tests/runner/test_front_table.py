"""The table of the front page has its numbers from records, and names what is wrong with its lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from runner_samples import make_record

from gossamer.runner.experiment import read_experiment
from gossamer.runner.front_table import front_table

LINE = """
[[line]]
claim = "Recommend"
data = "few"
page = "docs/page.md"
experiment = "tiny"
metric = "ndcg@10"
ours = { row = "ease", name = "EASE" }
rival = { row = "popularity", name = "the popular" }
"""


@pytest.fixture
def write(tiny_file: Path, tmp_path: Path):
    experiment = read_experiment(tiny_file)
    records = [
        make_record(row="ease", metrics={"ndcg@10": 0.25}),
        make_record(row="ease", seed=1, metrics={"ndcg@10": 0.35}),
        make_record(row="popularity", metrics={"ndcg@10": 0.125}),
    ]

    def table(text: str, metrics: tuple[str, ...] = ("ndcg@10",)) -> str:
        path = tmp_path / "front.toml"
        path.write_text(text, encoding="utf-8")
        return front_table(path, lambda _: (replace(experiment, metrics=metrics), records))

    return table


def test_means_over_seeds_and_the_better_in_bold(write):
    lines = write(LINE).splitlines()
    assert lines[0] == "| what for | data | measure | gossamer | beside it |"
    assert lines[2] == "| [Recommend](docs/page.md) | few | ndcg@10 ↑ | EASE: **0.3** | the popular: 0.125 |"
    assert lines[-1].endswith("`gossamer reproduce` with `tiny`.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("ndcg@10", "recall@5"), "metric must be one of ndcg@10, got 'recall@5'"),
        (('"popularity"', '"slim"'), "row must be one of tiny with records of ndcg@10, got 'slim'"),
        (("claim", "clam"), "line has no key 'clam'"),
    ],
)
def test_what_is_wrong_is_named(write, change, message):
    with pytest.raises(ValueError, match=message):
        write(LINE.replace(*change))


def test_an_unknown_experiment_is_named(tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tiny_file.parent)
    (tmp_path / "front.toml").write_text(LINE.replace("tiny", "other"), encoding="utf-8")
    with pytest.raises(ValueError, match="experiment must be one of tiny, got 'other'"):
        front_table(tmp_path / "front.toml")
