"""`gossamer recommend`: for a user of the data, or for a list of items."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import COLUMNS, Gossamer


def test_a_user_gets_what_is_left_of_their_block(gossamer: Gossamer, artifact: Path, ratings: Path) -> None:
    done = gossamer("recommend", artifact, "--user", "u2", "-n", 3, "--json")
    assert (done.code, done.err) == (0, "")
    items = [row["item"] for row in json.loads(done.out)["recommendations"]]
    seen = {line.split(",")[1] for line in ratings.read_text().splitlines() if line.startswith("u2,")}
    assert set(items) == {f"a{number}" for number in range(10)} - seen


def test_somebody_new_brings_items(gossamer: Gossamer, artifact: Path) -> None:
    done = gossamer("recommend", artifact, "--history", "b1", "--history", "b2", "-n", 2)
    assert done.code == 0, done.err
    assert "after b1, b2" in done.out
    assert " b" in done.out
    assert "rank" in done.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give either --user with an id or --history with items"),
        (["--user", "u1", "--history", "a1"], "give either --user with an id or --history with items"),
        (["--user", "nobody"], "user must be one of the 60 known ones, for example 'u0', got 'nobody'"),
        (["--history", "zz"], "history item must be one of the 20 known ones"),
        (["--user", "u1", "-n", "0"], "-n must be an integer >= 1, got 0"),
    ],
)
def test_mistakes_are_sentences(gossamer: Gossamer, artifact: Path, arguments: list[str], sentence: str) -> None:
    done = gossamer("recommend", artifact, *arguments)
    assert done.code == 2
    assert sentence in done.err


def test_a_model_of_ratings_does_not_recommend(gossamer: Gossamer, ratings: Path) -> None:
    gossamer("fit", "biased-mf", "-d", ratings.name, *COLUMNS, "-o", "mf", "--set", "num_factors=0")
    done = gossamer("recommend", "mf", "--user", "u1")
    assert done.code == 2
    assert "the model must recommend, which BiasedMF does not do" in done.err


def test_a_model_of_documents_does_not_recommend(gossamer: Gossamer, classifier: Path) -> None:
    for arguments in (("--user", "u1"), ("--history", "a")):
        done = gossamer("recommend", classifier, *arguments)
        assert done.code == 2
        assert "the model must recommend, which AnchorTextClassifier does not do" in done.err
