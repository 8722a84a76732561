"""`gossamer compare`: one split, one table."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import COLUMNS, Gossamer


def test_models_stand_side_by_side(gossamer: Gossamer, ratings: Path) -> None:
    done = gossamer("compare", ratings.name, "popularity", "item-knn", *COLUMNS, "--json")
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out)
    assert [row["model"] for row in answer["models"]] == ["popularity", "item-knn"]
    popularity, neighbours = answer["models"]
    assert neighbours["ndcg@100"] > popularity["ndcg@100"], "blocks are what neighbours see and popularity does not"
    assert answer["data"]["name"] == "ratings.csv"


def test_a_table_and_a_report(gossamer: Gossamer, ratings: Path) -> None:
    done = gossamer("compare", ratings.name, "popularity", "item-knn", "popularity", *COLUMNS, "--out", "report.html")
    assert done.code == 0, done.err
    assert done.out.count("popularity") == 1
    assert "wrote report.html" in done.out
    assert "2 models on ratings.csv" in Path("report.html").read_text(encoding="utf-8")


def test_mistakes_are_sentences(gossamer: Gossamer, ratings: Path) -> None:
    done = gossamer("compare", ratings.name, "popularity", "biased-mf", *COLUMNS)
    assert done.code == 2
    assert (
        "models must all be for the same, got popularity to recommend items, biased-mf to predict ratings" in done.err
    )
    done = gossamer("compare", ratings.name, "poplarity")
    assert done.code == 2
    assert "did you mean 'popularity'?" in done.err
