"""A CSV of series through fit, evaluate, predict and inspect; what is wrong with one is said in a sentence."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gossamer.cli.app import main

FIT = ("fit", "hsmm", "--data", "visits.csv", "--set", "num_states=2", "--set", "num_starts=1", "--set", "epochs=15")


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a CSV of twenty series of two phases, and a model of them, fitted once for all tests."""
    folder = tmp_path_factory.mktemp("visits")
    rng = np.random.default_rng(0)
    lines = ["user,time,clicks,views"]
    for user in range(20):
        states = np.repeat(np.arange(5) % 2, rng.integers(3, 6, size=5))
        for time, state in enumerate(states):
            lines.append(f"u{user},{time},{rng.normal(8 * state):.3f},{'' if time == 1 else rng.normal(-4 * state)}")
    (folder / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with contextlib.chdir(folder), pytest.raises(SystemExit) as exit_info:
        main([*FIT, "--out", "phases"])
    assert not exit_info.value.code
    return folder


@pytest.fixture
def visits(tmp_path: Path, fitted: Path) -> Path:
    """Return a copy of CSV and model in this test's folder."""
    shutil.copytree(fitted, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_evaluate_speaks_of_sequences(gossamer, visits):
    done = gossamer("evaluate", "phases")
    assert done.code == 0, done.err
    assert "2 held-out sequences" in done.out
    assert "documents" not in done.out


def test_predict_says_what_follows_and_writes_states(gossamer, visits):
    done = gossamer("predict", "phases", "--out", "states.csv", "-n", 3)
    assert done.code == 0, done.err
    assert "3 of 20 sequences" in done.out
    assert "next state" in done.out
    assert "clicks" in done.out
    states = pl.read_csv(visits / "states.csv")
    assert states.columns == ["sequence", "step", "state", "probability"]
    assert len(states) == len(pl.read_csv(visits / "visits.csv"))
    rows = json.loads(gossamer("predict", "phases", "--json", "-n", 1).out)
    assert rows[0]["sequence"] == "u0"
    assert rows[0]["next state"] != rows[0]["state"]


def test_inspect_writes_a_page(gossamer, visits):
    done = gossamer("inspect", "phases", "--out", "page.html")
    assert done.code == 0, done.err
    page = (visits / "page.html").read_text(encoding="utf-8")
    assert "sequences" in page
    assert "test documents" not in page


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda text: text.replace("u0,1,", "u0,0,", 1), "times of 'u0' must grow, got 0 twice"),
        (lambda text: text.replace("u0,1,", "u0,-1,", 1), "times of 'u0' must grow, got -1 after 0"),
        (lambda text: text.replace("views", "likes", 1), "data must have the dimensions clicks, views"),
        (lambda text: text.replace("u0,0,", "u0,0,many", 1), "clicks must be a finite number, or empty"),
    ],
)
def test_bad_files_get_a_sentence(gossamer, visits, change, sentence):
    text = (visits / "visits.csv").read_text(encoding="utf-8")
    (visits / "other.csv").write_text(change(text), encoding="utf-8")
    done = gossamer("predict", "phases", "--data", "other.csv")
    assert done.code == 2
    assert sentence in done.err


def test_short_series_and_unseen_categories(gossamer, tmp_path):
    (tmp_path / "short.csv").write_text("id,event\na,x\nb,x\nb,y\nc,y\nc,y\n", encoding="utf-8")
    words = ("--data", "short.csv", "--split", "none", "--out", "m", "--set", "num_states=2", "--set", "num_starts=1")
    done = gossamer("fit", "hmm", *words, "--set", "emission=categorical")
    assert done.code == 2
    assert "every series must have at least two steps, got 1 in series 'a'" in done.err
    (tmp_path / "short.csv").write_text("id,event\nb,x\nb,y\nc,y\nc,\n", encoding="utf-8")
    assert gossamer("fit", "hmm", *words, "--set", "emission=categorical", "--set", "epochs=2").code == 0
    (tmp_path / "new.csv").write_text("id,event\nd,z\nd,y\n", encoding="utf-8")
    done = gossamer("predict", "m", "--data", "new.csv")
    assert done.code == 2
    assert "got the unseen event 'z'" in done.err


def test_a_network_with_features_from_another_file(gossamer, tmp_path):
    rng = np.random.default_rng(0)
    lines, people = ["id,x,state"], ["id,f"]
    for number in range(10):
        shift = float(rng.normal())
        people.append(f"{number},{shift}")
        lines += [f"{number},{6 * (step // 3 % 2) + shift + rng.normal()},{step // 3 % 2}" for step in range(9)]
    (tmp_path / "series.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "people.csv").write_text("\n".join(people), encoding="utf-8")
    small = ("num_states=2", "epochs=1", "num_starts=1", "start_epochs=5", "hidden_dim=4", "latent_dim=2")
    words = ["--data", "series.csv", "--option", "features=people.csv", "--out", "m"]
    done = gossamer("fit", "neural-em", *words, *(word for setting in small for word in ("--set", setting)))
    assert done.code == 0, done.err
    assert "label_accuracy" in gossamer("evaluate", "m").out
    assert "next state" in gossamer("predict", "m", "-n", 2).out
    assert gossamer("inspect", "m", "--out", "page.html").code == 0
    assert "Its phases" in (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "bare.csv").write_text("id,x\n99,1\n99,2\n", encoding="utf-8")
    assert (
        "people.csv must describe every series of bare.csv, got none of '99'"
        in gossamer("predict", "m", "--data", "bare.csv").err
    )


def test_a_model_without_phases_says_so(gossamer, artifact):
    done = gossamer("predict", artifact.name)
    assert done.code == 2
    assert "the model must be one of sequences, such as hsmm, or of labels" in done.err
    assert "got ItemKNN" in done.err
    assert "--out must end in .csv, got 'states.txt'" in gossamer("predict", artifact.name, "--out", "states.txt").err


def test_labels_of_a_file_without_labels(gossamer, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    table = pl.DataFrame({"x": x[:, 0], "y": x[:, 1], "sad": (x[:, 0] > 0) * 1, "gay": (x[:, 1] > 0) * 1})
    table.write_csv(tmp_path / "songs.csv")
    table[:5, ["x", "y"]].write_csv(tmp_path / "new.csv")
    few = ["--set", "epochs=3", "--set", "num_repeats=1", "--set", "num_folds=2"]
    options = ["--data", "songs.csv", "--option", "labels=sad,gay"]
    done = gossamer("fit", "sparse-label-classifier", *options, "--out", "moods", *few)
    assert done.code == 0, done.err
    done = gossamer("predict", "moods", "--data", "new.csv", "--out", "labels.csv", "-n", 2)
    assert done.code == 0, done.err
    assert "2 of 5 rows" in done.out
    assert pl.read_csv(tmp_path / "labels.csv").columns == ["row", "labels", "sad", "gay"]
    assert gossamer("evaluate", "moods", "--data", "songs.csv").code == 0
    table.rename({"gay": "happy"}).write_csv(tmp_path / "other.csv")
    assert "labels must be of other.csv, got 'gay'" in gossamer("evaluate", "moods", "--data", "other.csv").err
