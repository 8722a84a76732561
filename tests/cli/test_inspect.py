"""`gossamer inspect`: a page about a saved model."""

from __future__ import annotations

from pathlib import Path

from command_line import COLUMNS, Gossamer


def test_the_page_shows_data_metrics_size_and_what_was_learned(gossamer: Gossamer, artifact: Path) -> None:
    done = gossamer("inspect", artifact)
    assert done.code == 0, done.err
    assert "wrote report.html" in done.out
    page = Path("report.html").read_text(encoding="utf-8")
    for expected in ("item-knn on ratings.csv", "ndcg@100", "num_neighbours", "<svg"):
        assert expected in page


def test_a_model_of_ratings_has_a_page_too(gossamer: Gossamer, ratings: Path) -> None:
    gossamer("fit", "biased-mf", "-d", ratings.name, *COLUMNS, "-o", "mf", "--set", "num_factors=1")
    done = gossamer("inspect", "mf", "--out", "pages/mf.html")
    assert done.code == 0, done.err
    assert "mse" in Path("pages/mf.html").read_text(encoding="utf-8")


def test_a_model_fitted_on_everything_has_a_page_without_metrics(gossamer: Gossamer, ratings: Path) -> None:
    gossamer("fit", "popularity", "-d", ratings.name, *COLUMNS, "-o", "model", "--split", "none")
    done = gossamer("inspect", "model")
    assert done.code == 0, done.err
    assert "recall@20" not in Path("report.html").read_text(encoding="utf-8")


def test_a_model_of_documents_has_a_page_with_its_size(gossamer: Gossamer, classifier: Path) -> None:
    done = gossamer("inspect", classifier)
    assert done.code == 0, done.err
    page = Path("report.html").read_text(encoding="utf-8")
    for expected in (
        "How well it does",
        "accuracy",
        "The table of vectors, before and after",
        "What it learned",
        "how many anchors each row is made of",
    ):
        assert expected in page
