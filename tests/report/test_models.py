from __future__ import annotations

import math

import numpy as np

from gossamer.data import Interactions, Parts
from gossamer.data.text import build_sentences
from gossamer.metrics.evaluation import RankingScores
from gossamer.report import (
    Example,
    Facts,
    Fold,
    Hit,
    ModelResult,
    Section,
    Table,
    models_report,
    render,
)


def section(report, title: str) -> Section:
    return next(part for part in report.sections if part.title == title)


def test_report_has_every_section_in_reading_order(report):
    assert [part.title for part in report.sections] == [
        "How well it recommends",
        "The data",
        "How it was trained",
        "What it costs",
        "Examples",
        "What it learned",
        "Where it comes from",
    ]
    assert report.subtitle.startswith("popularity, ease and als on 40 users, ")


def test_size_table_counts_what_is_known(report):
    table = section(report, "What it costs").blocks[0]
    assert isinstance(table, Table)
    assert table.rows[0] == {"model": "popularity", "values": 60, "size": 240, "time to fit": 0.002}


def test_hits_in_the_examples_are_ticked():
    example = Example("ann", ["tea"], {"ease": ["jam", "ham"], "als": ["eggs"]}, held_out={"jam"})
    report = models_report(title="t", data=None, split=None, models={}, examples=[example])
    fold = report.sections[0].blocks[0]
    assert isinstance(fold, Fold)
    facts, table = fold.blocks
    assert facts == Facts({"has": ["tea"]})
    assert table.rows == [
        {"rank": "1", "ease": Hit("jam"), "als": "eggs"},
        {"rank": "2", "ease": "ham", "als": None},
    ]


def test_provenance_has_split_and_settings(report):
    blocks = section(report, "Where it comes from").blocks
    assert blocks[0].facts["seed"] == 3
    assert [block.title for block in blocks[1:]] == [
        "Split",
        "Settings of popularity",
        "Settings of ease",
        "Settings of als",
    ]
    assert blocks[1].blocks[0].facts == {"kind": "strong generalisation", "seed": 3}


def test_a_report_on_nothing_is_a_page(read_page):
    report = models_report(title="t", data=None, split=None, models={})
    assert report.sections == []
    read_page(render(report))


def test_undefined_scores_and_empty_data_do_not_break_it(read_page):
    undefined = RankingScores({"recall@20": np.full(3, np.nan)}, {})
    models = {
        "a": ModelResult(undefined, history=[{"epoch": 0, "loss": math.nan}], explanation={"x": []}),
        "b": ModelResult(undefined),
    }
    report = models_report(title="t", data=Interactions.from_pairs([], []), split=None, models=models)
    read_page(render(report))


def test_one_model_shows_what_it_learned_without_a_fold_of_its_own(models):
    report = models_report(title="t", data=None, split=None, models={"ease": models["ease"]})
    learned = section(report, "What it learned").blocks
    assert [block.title for block in learned] == ["Similar items"]


def test_documents_have_a_report_of_their_own(read_page):
    data = build_sentences(["ham eggs", "vote", "ham", "court vote"], labels=["food", "news", "food", "news"])
    parts = Parts(data[:2], None, data[2:], {"kind": "rows"})
    size = {"dense_values": 4000, "values": 200, "bytes": 1000, "ratio": 20.0}
    result = ModelResult({"accuracy": 0.5}, size=size, entries={"words": np.array([1, 2])})
    report = models_report(title="t", data=parts, split=parts, models={"cnn": result})
    titles = [part.title for part in report.sections]
    assert titles == ["How well it does", "The data", "How small it is", "Where it comes from"]
    assert report.subtitle == "cnn on 4 documents."
    assert report.sections[0].lead == "Measured on 2 test documents."
    assert report.sections[0].blocks[0].caption == "Each metric"
    read_page(render(report))
