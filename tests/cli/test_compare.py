"""`gossamer compare`: one split, one table."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import COLUMNS, DOCUMENTS, Gossamer, classifier_with


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
    assert "must all be for the same, got popularity to recommend items, biased-mf to predict ratings" in done.err
    done = gossamer("compare", ratings.name, "poplarity")
    assert done.code == 2
    assert "did you mean 'popularity'?" in done.err


def test_fitted_models_stand_side_by_side(gossamer: Gossamer, classifier: Path, mail: Path) -> None:
    done = gossamer("fit", *classifier_with(method="dense", ratio=1), "-d", mail.name, *DOCUMENTS, "-o", "dense")
    assert done.code == 0, done.err
    done = gossamer("compare", mail.name, "cnn", "dense", *DOCUMENTS, "--json", "--out", "page.html")
    assert (done.code, done.err) == (0, "")
    compressed, dense = json.loads(done.out)["models"]
    assert (compressed["model"], dense["model"]) == ("cnn", "dense")
    assert compressed["values"] < dense["values"]
    assert compressed["accuracy"] == json.loads(Path("cnn/config.json").read_text())["metrics"]["accuracy"]
    assert "2 models on mail.csv" in Path("page.html").read_text(encoding="utf-8")
    done = gossamer("compare", mail.name, "cnn", *DOCUMENTS, "--seed", 5)
    assert done.code == 2
    assert "cnn must be fitted on the data and split it is compared on" in done.err
