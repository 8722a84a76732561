"""`gossamer evaluate`: the same numbers again, or those on other data."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import COLUMNS, Gossamer


def test_the_numbers_of_the_fit_come_back(gossamer: Gossamer, artifact: Path) -> None:
    done = gossamer("evaluate", artifact, "--json")
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out)
    assert answer["metrics"] == json.loads((artifact / "config.json").read_text())["metrics"]
    assert set(answer["standard_error"]) == set(answer["metrics"])
    assert answer["split"]["kind"] == "users"
    table = gossamer("evaluate", artifact)
    assert "item-knn on ratings.csv, 6 held-out users" in table.out


def test_changed_data_are_noticed(gossamer: Gossamer, artifact: Path, ratings: Path, caplog: object) -> None:
    ratings.write_text(ratings.read_text() + "u0,zz,3\n")
    done = gossamer("evaluate", artifact)
    assert done.code == 0
    assert "has changed since the model was trained" in caplog.text  # type: ignore[attr-defined]


def test_other_data_may_have_items_the_model_does_not_know(gossamer: Gossamer, artifact: Path, ratings: Path) -> None:
    other = ratings.with_name("other.csv")
    other.write_text(ratings.read_text().replace(",a1,", ",new,"))
    done = gossamer("evaluate", artifact, "--data", other.name, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["data"]["name"] == "other.csv"


def test_a_model_fitted_on_everything_has_nothing_held_out(gossamer: Gossamer, ratings: Path) -> None:
    gossamer("fit", "popularity", "-d", ratings.name, *COLUMNS, "-o", "model", "--split", "none")
    done = gossamer("evaluate", "model")
    assert done.code == 2
    assert "model must come from a split that holds something out, got 'none'" in done.err


def test_mistakes_are_sentences(gossamer: Gossamer, artifact: Path, ratings: Path) -> None:
    missing = gossamer("evaluate", "nothing")
    assert missing.code == 2
    assert "nothing does not exist" in missing.err
    ratings.unlink()
    gone = gossamer("evaluate", artifact)
    assert gone.code == 2
    assert "ratings.csv" in gone.err
    assert "Traceback" not in gone.err


def test_documents_are_judged_again_and_others_whole(gossamer: Gossamer, classifier: Path, mail: Path) -> None:
    fitted = json.loads((classifier / "config.json").read_text())["metrics"]
    done = gossamer("evaluate", classifier, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["metrics"] == fitted
    lines = mail.read_text().splitlines()
    (mail.parent / "other.csv").write_text("\n".join([lines[0], *lines[3:13]]) + "\n")
    done = gossamer("evaluate", classifier, "--data", "other.csv")
    assert done.code == 0, done.err
    assert "anchor-text-classifier on other.csv, 10 held-out documents" in done.out
