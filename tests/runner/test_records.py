"""Records: written whole, read with distrust, and repeated when what decides them changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from runner_samples import make_record

from gossamer.runner.experiment import read_experiment
from gossamer.runner.records import read_record, read_records, record_path, spec_hash, write_record

ASKED_FOR = "experiment row method seed commit dirty date machine data settings seconds peak_rss_bytes metrics paper"


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "results" / "ease.0.json"
    write_record(make_record(), path)
    assert read_record(path) == make_record()
    assert read_records(path.parent) == [make_record()]
    assert [file.name for file in path.parent.iterdir()] == ["ease.0.json"]
    assert set(ASKED_FOR.split()) <= set(json.loads(path.read_text()))


def test_there_are_no_records_before_the_first_run(tmp_path: Path) -> None:
    assert read_records(tmp_path / "nothing") == []


def test_a_failed_write_leaves_the_old_record(tmp_path: Path) -> None:
    path = tmp_path / "ease.0.json"
    write_record(make_record(), path)
    with pytest.raises(ValueError, match=r"record\['metrics'\]\['ndcg@5'\] must be finite"):
        write_record(make_record(metrics={"ndcg@5": float("nan")}), path)
    assert read_record(path) == make_record()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"experiment": "tiny"}', '{"a": NaN}'])
def test_what_is_no_record_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ease.0.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"ease.0.json is not a result record: .*; remove it and run the row again"):
        read_record(path)


def test_the_hash_follows_what_decides_the_numbers(tiny_file: Path) -> None:
    experiment = read_experiment(tiny_file)
    row = experiment.row("ease")
    known = spec_hash(experiment, row, "source")
    assert known == spec_hash(experiment, replace(row, method="Other words", paper={"ndcg@5": 1.0}), "source")
    assert known == spec_hash(replace(experiment, title="Other words", seeds=(7,)), row, "source")
    assert known != spec_hash(experiment, row, "other source")
    assert known != spec_hash(experiment, replace(row, settings={"l2": 3}), "source")
    assert known != spec_hash(experiment, replace(row, search=None), "source")
    assert known != spec_hash(replace(experiment, metrics=("recall@2",)), row, "source")


def test_records_lie_by_row_and_seed(tiny_file: Path) -> None:
    experiment = read_experiment(tiny_file)
    assert record_path(experiment, experiment.row("ease"), 3) == experiment.results / "ease.3.json"
