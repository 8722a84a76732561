"""Rows from file to record, in a process of their own, repeated only when something changed."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gossamer.core.remembering import remembered
from gossamer.runner import machine, run
from gossamer.runner.experiment import Experiment, Row, read_experiment
from gossamer.runner.measure import Measured
from gossamer.runner.records import Record, read_record, record_path, write_record
from gossamer.runner.run import data_are_here, run_experiment, run_in_own_process, run_row
from gossamer.runner.specs import DataSpec, PairedSpec, SearchSpec, SplitSpec
from gossamer.runner.table import table_frame


@pytest.fixture
def experiment(tiny_file: Path) -> Experiment:
    return read_experiment(tiny_file)


def test_a_row_without_a_search(experiment: Experiment) -> None:
    record = run_row(experiment, experiment.row("popularity"), 0)
    assert (record.experiment, record.row, record.seed) == ("tiny", "popularity", 0)
    assert set(record.metrics) == {"recall@2", "ndcg@5"}
    assert record.search is None
    assert record.per_user is None
    assert record.paper == {"ndcg@5": 0.25}
    assert record.data["name"] == experiment.data.name
    assert len(record.data["checksum"]) == 64
    assert record.split["kind"] == "users"
    assert record.peak_rss_bytes > 10 << 20
    assert record.seconds > 0


def test_a_search_is_decided_on_validation_data(experiment: Experiment) -> None:
    row = experiment.row("ease")
    assert row.search is not None
    row = replace(row, search=replace(row.search, space={"regularization": [1.0, 10.0]}))
    record = run_row(experiment, row, 1)
    assert record.search is not None
    trials = record.search["trials"]
    best = max(trials, key=lambda trial: trial["value"])
    assert record.settings == best["settings"]
    assert len(trials) == 2
    assert record.search["on"] == "validation"


def test_same_seed_same_numbers_other_seed_other_split(experiment: Experiment) -> None:
    row = experiment.row("popularity")
    first, again, other = (run_row(experiment, row, seed) for seed in (0, 0, 1))
    assert first.metrics == again.metrics
    assert first.data == other.data
    assert first.split["seed"] != other.split["seed"]


def test_made_up_data_are_drawn_by_the_seed_and_rows_may_have_other_options(tmp_path: Path) -> None:
    text = """# gossamer reproduce made-up
name = "made-up"
title = "Made-up series"
metrics = ["label_accuracy", "test_hidden_loglik"]
seeds = [0, 1]
[data]
name = "hsmm-collection"
seeded = true
options = {num_train = 12, num_valid = 2, num_test = 4}
[split]
kind = "given"
[[row]]
name = "pooled"
method = "pooled-em"
model = "neural-em"
data = {length = 20}
settings = {method = "pooled-em", num_states = 3, num_starts = 1, start_epochs = 2}
"""
    path = tmp_path / "made-up.toml"
    path.write_text(text, encoding="utf-8")
    made_up = read_experiment(path)
    first, other = (run_row(made_up, made_up.row("pooled"), seed) for seed in (0, 1))
    assert first.data["options"] == {"num_train": 12, "num_valid": 2, "num_test": 4, "length": 20, "seed": 0}
    assert first.data["checksum"] != other.data["checksum"]
    assert set(first.metrics) == {"label_accuracy", "test_hidden_loglik"}
    path.write_text(text.replace("data = {length = 20}", "data = 20"), encoding="utf-8")
    with pytest.raises(ValueError, match="row 'pooled': data must be a table of options, got 20"):
        read_experiment(path)


def test_a_search_needs_validation_data(experiment: Experiment) -> None:
    split = replace(experiment.split, arguments={"num_valid": 0, "num_test": 6})
    with pytest.raises(ValueError, match="split must hold out validation data for the search of row 'ease', got none"):
        run_row(replace(experiment, split=split), experiment.row("ease"), 0)


def test_a_wrong_setting_is_found_before_the_data_are_read(experiment: Experiment) -> None:
    row = replace(experiment.row("popularity"), settings={"wieghted": True})
    lost = replace(experiment, data=replace(experiment.data, name="nowhere.csv"))
    with pytest.raises(ValueError, match="popularity has no setting 'wieghted'"):
        run_row(lost, row, 0)


def test_documents_have_records_like_interactions(
    experiment: Experiment, documents_file: Path, word_votes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "family_of", lambda _: "linear")  # the model of this test lives in no family
    row = Row("votes", "votes", word_votes, search=SearchSpec("grid", "test_accuracy", {"smoothing": [0.1, 1.0]}, 2))
    options, columns = {"form": "sentences"}, {"text": "body", "label": "topic"}
    documents = replace(
        experiment,
        metrics=("test_accuracy", "values", "bytes"),
        data=DataSpec(str(documents_file), options, columns),
        split=SplitSpec("rows", {"fractions": [0.5, 0.25, 0.25]}),
    )
    record = run_row(documents, row, 1)
    assert record.metrics["test_accuracy"] == 1.0
    assert record.metrics["bytes"] == 1234
    assert record.metrics["values"] == 2 * record.split["num_words"]
    assert record.search is not None
    assert record.search["trials"][0]["value"] == 1.0
    assert record.split["seed"] == 1
    assert len(record.data["checksum"]) == 64
    path = record_path(documents, row, 1)
    write_record(record, path)
    assert read_record(path) == record


def test_records_are_written_once_for_the_same_code(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "run_in_own_process", run_row)
    first = list(run_experiment(experiment, row="popularity"))
    assert [(record.seed, is_new) for record, is_new in first] == [(0, True), (1, True)]
    assert read_record(record_path(experiment, experiment.row("popularity"), 1)) == first[1][0]
    assert [is_new for _, is_new in run_experiment(experiment, row="popularity", seed=1)] == [False]
    assert [is_new for _, is_new in run_experiment(experiment, row="popularity", seed=1, force=True)] == [True]
    monkeypatch.setattr(machine, "code_hash", lambda _: "edited")
    assert [is_new for _, is_new in run_experiment(experiment, row="popularity", seed=1)] == [True]


def test_rows_together_share_the_data_and_say_so(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, opened = run.open_data, []

    def open_once(*arguments: object) -> object:
        opened.append(arguments)
        return honest(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(run, "open_data", open_once)
    together = [record for record, _ in run_experiment(experiment, row="popularity", together=True)]
    assert len(opened) == 1
    assert [record.together for record in together] == [True, True]
    path = record_path(experiment, experiment.row("popularity"), 1)
    assert read_record(path) == together[1]
    alone = run_row(experiment, experiment.row("popularity"), 1)
    assert len(opened) == 2
    assert not alone.together
    assert (alone.metrics, alone.data, alone.split) == (together[1].metrics, together[1].data, together[1].split)
    write_record(alone, path)
    assert '"together":' not in path.read_text()
    assert read_record(path) == alone


def test_missing_leaves_records_of_other_code(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    list(run_experiment(experiment, row="popularity", seed=0, together=True))
    monkeypatch.setattr(run.machine, "code_hash", lambda _: "of other code")

    def new(**options: bool) -> list[tuple[int, bool]]:
        found = run_experiment(experiment, row="popularity", together=True, **options)
        return [(record.seed, is_new) for record, is_new in found]

    assert new(missing=True) == [(0, False), (1, True)]
    assert new() == [(0, True), (1, False)]
    with pytest.raises(ValueError, match="force must not come with missing"):
        new(missing=True, force=True)


def test_seconds_count_what_was_remembered(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(*_: object) -> float:
        remembered("pause", [], lambda: time.sleep(0.1))
        return 0.0

    monkeypatch.setattr(run, "fit", fit)
    monkeypatch.setattr(run, "measure", lambda *_: Measured({}, {}))
    first, second = run_experiment(experiment, row="popularity", together=True)
    assert first[0].seconds == 0
    assert second[0].seconds >= 0.1


def test_a_row_runs_in_a_process_of_its_own(experiment: Experiment) -> None:
    record = run_in_own_process(experiment, experiment.row("popularity"), 0)
    assert record.metrics == run_row(experiment, experiment.row("popularity"), 0).metrics


def test_a_mistake_in_that_process_comes_back_as_it_is(experiment: Experiment) -> None:
    row = replace(experiment.row("popularity"), settings={"wieghted": True})
    with pytest.raises(ValueError, match="popularity has no setting 'wieghted'"):
        run_in_own_process(experiment, row, 0)


def _die(*_: object) -> Record:
    os._exit(9)


def test_a_killed_process_is_said_to_be_killed(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "run_row", _die)
    with pytest.raises(OSError, match="row 'popularity' with seed 0 was killed by the system"):
        run_in_own_process(experiment, experiment.row("popularity"), 0)


def test_folds_are_compared_over_all_users(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "run_in_own_process", run_row)
    folds = SplitSpec("user-folds", {"num_folds": 2, "num_valid": 6})
    paired = replace(experiment, split=folds, paired=PairedSpec("ndcg@5", "popularity"))
    records = [record for record, _ in run_experiment(paired)]
    kept = {(record.row, record.seed): record.per_user for record in records}
    assert [len(per_user.values) for per_user in kept.values() if per_user] == [20] * 4
    assert kept["ease", 0].held_out == kept["popularity", 0].held_out != kept["ease", 1].held_out  # type: ignore[union-attr]
    for record in records:
        assert record.per_user is not None
        assert np.nanmean(record.per_user.array()) == pytest.approx(record.metrics["ndcg@5"], abs=1e-5)
    (line,) = table_frame(paired, records).filter(row="ease").iter_rows(named=True)
    means = [
        np.mean([record.metrics["ndcg@5"] for record in records if record.row == row]) for row in ("ease", "popularity")
    ]
    assert line["ndcg@5 − popularity"] == pytest.approx(means[0] - means[1], abs=1e-5)
    assert 0 < line["± ndcg@5 − popularity"] < 0.2


def test_data_are_here_or_not(experiment: Experiment) -> None:
    assert data_are_here(experiment)
    assert not data_are_here(replace(experiment, data=replace(experiment.data, name="nowhere.csv")))
    assert data_are_here(replace(experiment, data=replace(experiment.data, name="stdlib-usage")))
