"""Records: written whole, read with distrust, and repeated when what decides them changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from runner_samples import make_record

from gossamer.runner.experiment import read_experiment
from gossamer.runner.per_user import PerUser
from gossamer.runner.records import read_record, read_records, record_path, spec_hash, write_record
from gossamer.runner.specs import PairedSpec

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


def test_values_of_users_take_one_line(tmp_path: Path) -> None:
    path = tmp_path / "ease.0.json"
    write_record(make_record(), path)
    lines = path.read_text().splitlines()
    assert "per_user" not in path.read_text()
    record = make_record(per_user=PerUser("ndcg@5", "0123abcd", (0.5, None, 0.33333, 1.0)))
    write_record(record, path)
    assert read_record(path) == record
    *others, line, end = path.read_text().splitlines()
    assert line == '  "per_user": {"metric":"ndcg@5","held_out":"0123abcd","values":[0.5,null,0.33333,1.0]}'
    assert [*others, end] == [*lines[:-2], lines[-2] + ",", lines[-1]]


@pytest.mark.parametrize(
    ("per_user", "sentence"),
    [
        (None, "per_user must be a table, got None"),
        ({"metric": "ndcg@5", "values": []}, "per_user must have the key 'held_out'"),
        ({"metric": "ndcg@5", "held_out": "a", "values": [], "ids": []}, "per_user has no key 'ids'"),
        ({"metric": 3, "held_out": "a", "values": []}, "per_user.metric must be a text, got 3"),
        ({"metric": "ndcg@5", "held_out": "", "values": []}, "per_user.held_out must be a text, got ''"),
        ({"metric": "ndcg@5", "held_out": "a", "values": 0.5}, "per_user.values must be a list, got 0.5"),
        (
            {"metric": "ndcg@5", "held_out": "a", "values": [0.5, "1"]},
            "per_user.values must be numbers or null, got '1'",
        ),
        ({"metric": "ndcg@5", "held_out": "a", "values": [True]}, "per_user.values must be numbers or null, got True"),
    ],
)
def test_damaged_values_of_users_are_named(tmp_path: Path, per_user: object, sentence: str) -> None:
    path = tmp_path / "ease.0.json"
    write_record(make_record(), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"per_user": per_user}))
    with pytest.raises(ValueError, match=f"ease.0.json is not a result record: {sentence}"):
        read_record(path)


def test_a_comparison_repeats_records_that_lack_its_values(tiny_file: Path) -> None:
    experiment = read_experiment(tiny_file)
    row = experiment.row("ease")
    paired = replace(experiment, paired=PairedSpec("ndcg@5", "ease"))
    known = spec_hash(paired, row, "source")
    assert known != spec_hash(experiment, row, "source")
    assert known != spec_hash(replace(experiment, paired=PairedSpec("recall@2", "ease")), row, "source")
    assert known == spec_hash(replace(experiment, paired=PairedSpec("ndcg@5", "popularity")), row, "source")


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
