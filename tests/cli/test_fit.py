"""`gossamer fit`: from a file to an artifact that remembers where it came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import COLUMNS, DOCUMENTS, Gossamer, classifier_with


def test_a_model_is_fitted_judged_and_saved(artifact: Path) -> None:
    config = json.loads((artifact / "config.json").read_text())
    assert config["arguments"]["num_neighbours"] == 5
    assert set(config["metrics"]) == {"recall@20", "recall@50", "ndcg@100"}
    provenance = config["provenance"]
    assert provenance["model"] == "item-knn"
    assert provenance["data"]["name"] == "ratings.csv"
    assert provenance["data"]["columns"] == {"user": "userId", "item": "movieId", "rating": "stars"}
    assert provenance["split"] == {"kind": "users", "seed": 0}
    assert len(provenance["fingerprint"]) == 64


def test_the_outcome_is_printed_with_the_next_step(gossamer: Gossamer, ratings: Path) -> None:
    done = gossamer("fit", "popularity", "-d", ratings.name, *COLUMNS, "-o", "model", "--min-rating", 4, "--seed", 3)
    assert done.code == 0, done.err
    assert "ndcg@100" in done.out
    assert "saved to model; look at it with: gossamer inspect model" in done.out
    assert done.err == ""


def test_everything_can_be_training_data(gossamer: Gossamer, ratings: Path) -> None:
    done = gossamer("fit", "popularity", "-d", ratings.name, *COLUMNS, "-o", "model", "--split", "none")
    assert done.code == 0, done.err
    assert json.loads(Path("model/config.json").read_text())["metrics"] == {}


def test_ratings_are_predicted_on_a_random_split(gossamer: Gossamer, ratings: Path) -> None:
    done = gossamer("fit", "biased-mf", "-d", ratings.name, *COLUMNS, "-o", "model", "--set", "num_factors=0")
    assert done.code == 0, done.err
    assert "mse" in done.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["easy"], "did you mean 'ease'?"),
        (
            ["ease", "--set", "regularisation=3"],
            "ease has no setting 'regularisation' (did you mean 'regularization'?)",
        ),
        (["ease", "--set", "regularization"], "--set must be key=value, got 'regularization'"),
        (["ease", "--set", "regularization=-1"], "regularization must be a finite number > 0, got -1"),
        (["ease", "--split", "users-time"], "split kind must be one of 'users', 'random'"),
        (["ease", "--split", "user-time"], "interactions must have times to be split by time"),
        (["ease", "--device", "cuda"], "device must be 'cpu' for ease"),
        (["ease", "--min-rating", "9"], "must keep some interactions, got none"),
        (["ease", "--columns", "user=nobody"], "nobody"),
    ],
)
def test_mistakes_are_sentences(gossamer: Gossamer, ratings: Path, arguments: list[str], sentence: str) -> None:
    columns = () if "--columns" in arguments else COLUMNS
    done = gossamer("fit", *arguments, "--data", ratings.name, *columns, "--out", "model")
    assert done.code == 2
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert not Path("model").exists()


def test_missing_data_and_taken_folders_are_mistakes(gossamer: Gossamer, ratings: Path) -> None:
    done = gossamer("fit", "ease", "--data", "missing.csv", "--out", "model")
    assert (done.code, "missing.csv" in done.err) == (2, True)
    Path("taken").mkdir()
    Path("taken/notes.txt").write_text("mine")
    done = gossamer("fit", "popularity", "-d", ratings.name, *COLUMNS, "-o", "taken")
    assert done.code == 2
    assert "choose another path" in done.err
    assert Path("taken/notes.txt").read_text() == "mine"


def test_a_model_of_documents_is_fitted_on_a_file(classifier: Path) -> None:
    config = json.loads((classifier / "config.json").read_text())
    assert config["metrics"]["accuracy"] > 0.9, "every word says the class"
    provenance = config["provenance"]
    assert provenance["split"] == {"kind": "rows", "seed": 0}
    assert provenance["data"]["options"] == {"form": "sentences"}
    assert provenance["data"]["columns"] == {"text": "body", "label": "topic"}


def test_a_language_model_is_fitted_on_plain_text(gossamer: Gossamer, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("ham and eggs and tea\n" * 50, encoding="utf-8")
    settings = ("--set", "embedding_dim=8", "--set", "ratio=2", "--set", "epochs=1", "--set", "num_layers=1")
    done = gossamer("fit", "anchor-language-model", "--data", "book.txt", "--out", "lm", *settings)
    assert done.code == 0, done.err
    assert "perplexity" in done.out


def test_documents_that_ship_with_python(gossamer: Gossamer) -> None:
    settings = classifier_with(epochs=1, batch_size=512)
    done = gossamer("fit", *settings, "--data", "stdlib-docs", "--option", "tests=false", "--out", "docs")
    assert done.code == 0, done.err
    assert "accuracy" in done.out
    provenance = json.loads(Path("docs/config.json").read_text())["provenance"]
    assert provenance["data"]["options"] == {"form": "sentences", "tests": False}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--columns", "text=nothing"], "columns['text'] must be a column of mail.csv, got 'nothing'"),
        (["--split", "users"], "data must be interactions to be split by 'users', got Sentences"),
        (["--split", "given"], "data must come in parts to be split by 'given', got Sentences; use 'rows'"),
        (["--min-rating", "3"], "data must be interactions to be filtered, got Sentences from 'mail.csv'"),
        (["--option", "max_word=3"], "a file of sentences has no option 'max_word' (did you mean 'max_words'?)"),
        (["--option", "max_words"], "--option must be key=value, got 'max_words'"),
    ],
)
def test_mistakes_about_documents_are_sentences(
    gossamer: Gossamer, mail: Path, arguments: list[str], sentence: str
) -> None:
    columns = () if "--columns" in arguments else DOCUMENTS
    done = gossamer("fit", *classifier_with(), "--data", mail.name, *columns, *arguments, "--out", "cnn")
    assert (done.code, sentence in done.err) == (2, True), done.err
