"""Tables from records: means, spreads, published numbers, the same text for the same records."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from runner_samples import make_record

from gossamer.runner.experiment import Experiment, read_experiment
from gossamer.runner.per_user import PerUser
from gossamer.runner.records import Record
from gossamer.runner.specs import PairedSpec
from gossamer.runner.table import footnote, markdown_table, rich_table, size_curves, table_frame


@pytest.fixture
def experiment(tiny_file: Path) -> Experiment:
    return read_experiment(tiny_file)


def test_several_seeds_have_a_mean_and_a_standard_deviation(experiment: Experiment) -> None:
    records = [make_record(seed=seed, metrics={"recall@2": 0.5, "ndcg@5": 0.4 + 0.2 * seed}) for seed in (0, 1)]
    frame = table_frame(experiment, records)
    line = frame.row(by_predicate=pl.col("row") == "ease", named=True)
    assert line["ndcg@5"] == pytest.approx(0.5)
    assert line["± ndcg@5"] == pytest.approx(0.1414, abs=1e-4)
    assert (line["seeds"], line["by"], line["seconds"]) == (2, "gossamer", 1.5)


def test_one_seed_has_the_standard_error_over_users(experiment: Experiment) -> None:
    frame = table_frame(experiment, [make_record()])
    assert frame.row(by_predicate=pl.col("row") == "ease", named=True)["± ndcg@5"] == 0.02


def test_published_numbers_stand_beside_and_need_no_record(experiment: Experiment) -> None:
    frame = table_frame(experiment, [])
    assert frame["row"].to_list() == ["popularity"]
    assert frame["ndcg@5 (paper)"].to_list() == [0.25]
    assert frame["ndcg@5"].to_list() == [None]
    assert "recall@2 (paper)" not in frame.columns


def test_markdown_marks_the_best_and_says_how_to_do_it_again(experiment: Experiment) -> None:
    records = [make_record(), make_record(row="popularity", metrics={"recall@2": 0.1, "ndcg@5": 0.1}, dirty=True)]
    text = markdown_table(experiment, records)
    assert text == markdown_table(experiment, records[::-1])
    lines = text.splitlines()
    assert lines[0] == "| method | by | seeds | recall@2 | ndcg@5 | ndcg@5 (paper) | seconds | peak MB |"
    assert lines[1].startswith("| :-- | :-- | --: |")
    assert lines[3] == "| EASE | gossamer | 1 | **0.5000 ± 0.0100** | **0.4000 ± 0.0200** |  | 1.5 | 123 |"
    assert "0.1000 ± 0.0200 | 0.2500 |" in lines[2]
    assert lines[-1] == (
        "± standard error over users; seconds and peak memory of one fit on 2 cores; "
        "commit 0000000000, 0000000000+; `gossamer reproduce tiny`."
    )


def test_the_best_error_is_the_lowest_and_sizes_have_no_best(experiment: Experiment) -> None:
    ratings = replace(experiment, metrics=("test_mse", "values"))
    records = [
        make_record(metrics={"test_mse": 0.7, "values": 9746.0}, standard_error={}),
        make_record(row="popularity", metrics={"test_mse": 0.8, "values": 1.0}),
    ]
    text = markdown_table(ratings, records)
    assert "| **0.7000** | 9,746 |" in text
    assert "| 0.8000" in text


def test_rows_of_one_method_are_told_apart_by_their_names(experiment: Experiment) -> None:
    popularity = replace(experiment.row("popularity"), method="EASE")
    alike = replace(experiment, rows=(popularity, experiment.row("ease")))
    lines = markdown_table(alike, [make_record(), make_record(row="popularity")]).splitlines()
    assert lines[0].startswith("| row | method | by |")
    assert lines[1].startswith("| :-- | :-- | :-- | --: |")
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| popularity", "| ease"]


def test_sizes_are_whole_numbers_also_where_a_paper_has_them(experiment: Experiment) -> None:
    popularity = replace(experiment.row("popularity"), paper={"values": 59400.0})
    sized = replace(experiment, metrics=("test_mse", "values", "nnz"), rows=(popularity,))
    metrics = {"test_mse": 0.7, "values": 9746.0, "nnz": 1234.0}
    records = [make_record(row="popularity", seed=seed, metrics=metrics) for seed in (0, 1)]
    assert "| 9,746 | 59,400 | 1,234 |" in markdown_table(sized, records)


def test_a_cell_cannot_break_the_table(experiment: Experiment) -> None:
    ease = replace(experiment.row("ease"), method="a | b [bold]")
    text = markdown_table(replace(experiment, rows=(ease,)), [make_record()])
    assert "a \\| b" in text
    printed = StringIO()
    Console(file=printed, width=200).print(rich_table(replace(experiment, rows=(ease,)), [make_record()]))
    assert "a | b [bold]" in printed.getvalue()


def test_the_terminal_shows_the_same(experiment: Experiment) -> None:
    printed = StringIO()
    Console(file=printed, width=200).print(rich_table(experiment, [make_record()]))
    assert "Two blocks of users" in printed.getvalue()
    assert "0.4000 ± 0.0200" in printed.getvalue()


def test_an_experiment_without_records_says_so(experiment: Experiment) -> None:
    assert footnote(experiment, []) == "Not run yet: `gossamer reproduce tiny`."
    unpublished = replace(experiment, rows=(experiment.row("ease"),))
    assert markdown_table(unpublished, []) == footnote(experiment, [])


def paired_records(values: dict[tuple[str, int], tuple[float | None, ...]]) -> list[Record]:
    return [
        make_record(row=row, seed=seed, per_user=PerUser("ndcg@5", f"fold {seed}", users))
        for (row, seed), users in values.items()
    ]


def test_a_paired_table_has_the_difference_beside_its_metric(experiment: Experiment) -> None:
    paired = replace(experiment, paired=PairedSpec("ndcg@5", "popularity"))
    own, other = {0: (0.5, 0.7), 1: (0.2, 0.8)}, {0: (0.4, 0.5), 1: (0.3, 0.6)}
    records = paired_records(
        {("ease", seed): own[seed] for seed in own} | {("popularity", seed): other[seed] for seed in other}
    )
    lines = markdown_table(paired, records).splitlines()
    assert lines[0] == (
        "| method | by | seeds | recall@2 | ndcg@5 | ndcg@5 (paper) | ndcg@5 − popularity | seconds | peak MB |"
    )
    # Differences .1, .2, -.1, .2: mean .1, variance .06 / 3, error of the mean √(.02 / 4).
    assert "|  | +0.1000 ± 0.0707 | 1.5 |" in lines[3]
    assert "| 0.2500 |  | 1.5 |" in lines[2], "the reference has no difference to itself"
    assert "; ndcg@5 − popularity ± paired standard error over all users; seconds" in lines[-1]
    assert "ndcg@5 − popularity" not in table_frame(experiment, records).columns


def test_one_user_has_a_difference_without_an_error(experiment: Experiment) -> None:
    paired = replace(experiment, seeds=(0,), paired=PairedSpec("ndcg@5", "popularity"))
    records = paired_records({("ease", 0): (0.25, None), ("popularity", 0): (0.5, None)})
    assert "| -0.2500 | 1.5 |" in markdown_table(paired, records)
    nobody = paired_records({("ease", 0): (None,), ("popularity", 0): (None,)})
    assert table_frame(paired, nobody)["ndcg@5 − popularity"].to_list() == [None, None]


def test_curves_are_means_over_seeds_against_size(experiment: Experiment) -> None:
    sized = replace(experiment, metrics=("values", "ndcg@5"))
    records = [
        make_record(seed=seed, metrics={"values": 100.0, "ndcg@5": 0.4 + 0.2 * seed}, standard_error={})
        for seed in (0, 1)
    ]
    assert size_curves(sized, records) == ("ndcg@5", {"EASE": [(100.0, pytest.approx(0.5))]})
    with pytest.raises(ValueError, match="tiny must have records to plot, got none"):
        size_curves(sized, [])
    with pytest.raises(ValueError, match="metrics of tiny must have values and a measure to plot against them"):
        size_curves(experiment, records)
