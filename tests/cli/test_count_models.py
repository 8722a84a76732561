"""A model of counts goes through every verb: fit, evaluate, recommend, inspect, compare."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Gossamer
from scipy import sparse

from gossamer.models.counts import count_vae
from gossamer.models.counts.batch import CountBatch, take_batch
from gossamer.persistence import read_artifact

SMALL = ("--set", "latent_dim=2", "--set", "encoder_dims=[4]", "--set", "epochs=1", "--set", "inputs=norm")
OWN = ("--columns", "text=body", "--columns", "document=nr")
DATA = ("--data", "stdlib-docs", "--option", "tests=false")


@pytest.fixture
def own_vae(gossamer: Gossamer, tmp_path: Path) -> Path:
    """Return a model of a CSV of 40 documents, one of them without words, that lies beside it."""
    texts = ["" if row == 7 else ("ham eggs tea", "vote court law")[row % 2] for row in range(40)]
    lines = ["nr,body", *(f"d{row},{text}" for row, text in enumerate(texts))]
    (tmp_path / "letters.csv").write_text("\n".join(lines) + "\n")
    done = gossamer("fit", "count-vae", "--data", "letters.csv", *OWN, "--out", "vae", *SMALL)
    assert (done.code, done.err) == (0, "")
    assert not list(tmp_path.glob("*.checkpoint"))
    return tmp_path / "vae"


def test_a_count_vae_goes_through_every_verb(gossamer: Gossamer, tmp_path: Path) -> None:
    done = gossamer("fit", "count-vae", *DATA, "--out", "vae", *SMALL)
    assert done.code == 0, done.err
    measured = json.loads(gossamer("evaluate", "vae", "--json").out)["metrics"]
    assert {f"perplexity_{per}_{how}" for per in ("document", "token") for how in ("amortised", "refined")} <= set(
        measured
    )
    assert measured["perplexity_document_refined"] < measured["perplexity_document_amortised"]
    done = gossamer("recommend", "vae", "--history", "file", "--history", "path", "-n", 3, "--json")
    terms = [row["item"] for row in json.loads(done.out)["recommendations"]]
    assert len(terms) == 3
    assert not {"file", "path"} & set(terms)
    done = gossamer("recommend", "vae", "--user", "zipfile.ZipFile.extract", "-n", 3)
    assert done.code == 0, done.err
    assert "for zipfile.ZipFile.extract" in done.out
    done = gossamer("recommend", "vae", "--history", "nosuchterm")
    assert done.code == 2
    assert "history item must be one of the" in done.err
    done = gossamer("inspect", "vae", "--out", "page.html")
    assert done.code == 0, done.err
    assert "What it learned" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_users_own_texts_go_through_every_verb(gossamer: Gossamer, own_vae: Path, tmp_path: Path) -> None:
    done = gossamer("evaluate", "vae")
    assert (done.code, done.err) == (0, "")
    assert "count-vae on letters.csv, 4 held-out documents" in done.out
    done = gossamer("recommend", "vae", "--user", "d3", "-n", 2)
    assert (done.code, done.err) == (0, "")
    done = gossamer("inspect", "vae", "--out", "page.html")
    assert (done.code, done.err) == (0, "")
    assert "letters.csv" in (tmp_path / "page.html").read_text(encoding="utf-8")
    done = gossamer("compare", "letters.csv", "vae", "unigram", *OWN, "--json")
    assert (done.code, done.err) == (0, "")
    assert [row["model"] for row in json.loads(done.out)["models"]] == ["vae", "unigram"]


def test_other_documents_are_judged_by_the_terms_that_the_model_knows(
    gossamer: Gossamer, own_vae: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Path("next.csv").write_text("nr,body\nd1,ham tea spam\nd2,\nd3,court\n")
    known = json.loads(gossamer("evaluate", "vae", "--data", "next.csv", "--json").out)["metrics"]
    assert "next.csv has 1 of 4 terms, 25.0 % of all it counts, that the model does not know" in caplog.text
    Path("known.csv").write_text("nr,body\nd1,ham tea\nd2,\nd3,court\n")
    assert json.loads(gossamer("evaluate", "vae", "--data", "known.csv", "--json").out)["metrics"] == known
    assert gossamer("recommend", "vae", "--user", "d1", "--data", "next.csv", "-n", 2).code == 0
    Path("strange.csv").write_text("nr,body\nd1,kein wort\n")
    done = gossamer("evaluate", "vae", "--data", "strange.csv")
    assert done.code == 2
    assert "strange.csv must have some of the 6 terms that the model knows, got none of them" in done.err


def test_a_document_without_words_has_the_prior_for_its_code(gossamer: Gossamer, own_vae: Path) -> None:
    """Its code is zeros, so what is recommended to it is what the decoder says at the origin."""
    model = read_artifact("vae").estimator
    empty = np.zeros((1, len(model.terms_)), dtype=np.float32)
    assert (model.transform(empty) == 0).all()
    Path("next.csv").write_text("nr,body\nnobody,\nsomebody,ham\n")
    done = gossamer("recommend", "vae", "--user", "nobody", "--data", "next.csv", "-n", 6, "--json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["recommendations"]
    best = model.recommend(empty, 6)
    assert [row["item"] for row in rows] == [model.terms_[int(term)] for term in best.items[0]]
    assert sum(math.exp(row["score"]) for row in rows) == pytest.approx(1, abs=1e-5)
    Path("empty.csv").write_text("nr,body\nnobody,\n")
    done = gossamer("evaluate", "vae", "--data", "empty.csv")
    assert done.code == 2
    assert "must have at least one" in done.err


def test_a_matrix_must_have_the_columns_of_the_training_data(gossamer: Gossamer) -> None:
    counts = np.random.default_rng(0).poisson(1.0, (30, 6))
    sparse.save_npz("counts.npz", sparse.csr_array(counts))
    sparse.save_npz("wide.npz", sparse.csr_array(np.hstack([counts, counts])))
    Path("terms.txt").write_text("\n".join("abcdef") + "\n")
    done = gossamer("fit", "count-vae", "-d", "counts.npz", "--option", "vocabulary=terms.txt", "-o", "vae", *SMALL)
    assert (done.code, done.err) == (0, "")
    assert gossamer("recommend", "vae", "--history", "a", "-n", 2).code == 0
    assert gossamer("evaluate", "vae", "--data", "counts.npz").code == 0
    done = gossamer("evaluate", "vae", "--data", "wide.npz")
    assert done.code == 2
    assert done.err == "gossamer: wide.npz must have the 6 columns of the training data, got 12\n"
    done = gossamer("recommend", "vae", "--user", "0")
    assert done.code == 2
    assert "user must be left out for data whose rows have no names" in done.err


def test_ctrl_c_leaves_a_checkpoint_and_the_same_command_goes_on(
    gossamer: Gossamer, own_vae: Path, monkeypatch: pytest.MonkeyPatch, interruptible: None
) -> None:
    command = ("fit", "count-vae", "-d", "letters.csv", *OWN, *SMALL[:4], "--set", "epochs=4", "--out")
    assert gossamer(*command, "whole").code == 0
    taken = iter(range(2))

    def interrupt_at_the_third(*arguments: Any) -> CountBatch:
        if next(taken, None) is None:
            os.kill(os.getpid(), signal.SIGINT)
        return take_batch(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(count_vae, "take_batch", interrupt_at_the_third)
        done = gossamer(*command, "cut")
    assert done.code == 130
    (checkpoint,) = Path().glob("cut.*.checkpoint")
    assert done.err == (
        f"gossamer: what was learned so far is in {checkpoint}; the same command goes on from there, and without that "
        "file it starts anew\ngossamer: interrupted\n"
    )
    assert not Path("cut").exists()
    assert "going on from" not in gossamer(*command, "cut", "--seed", 5).out, "another run has another checkpoint"
    assert checkpoint.exists()
    done = gossamer(*command, "cut2")
    assert "going on from" not in done.out
    shutil.rmtree("cut")
    done = gossamer(*command, "cut")
    assert done.code == 0, done.err
    assert f"going on from {checkpoint}" in done.out
    assert not checkpoint.exists()
    whole, cut = (read_artifact(name).estimator.learned_arrays() for name in ("whole", "cut"))
    for name, array in whole.items():
        np.testing.assert_array_equal(array, cut[name], err_msg=name)


def test_mistakes_are_sentences(gossamer: Gossamer, mail: Path) -> None:
    done = gossamer("fit", "count-vae", *DATA, "--out", "vae", "--set", "latent_dims=2")
    assert done.code == 2
    assert "count-vae has no setting 'latent_dims' (did you mean 'latent_dim'?)" in done.err
    done = gossamer("fit", "count-vae", "--data", mail.name, "--option", "max_term=9", "--out", "vae")
    assert done.code == 2
    assert "a file of counts has no option 'max_term' (did you mean 'max_terms'?)" in done.err
    for value, said in (("-1", "'-1'"), ("0.5", "'0.5'"), ("many", "'many'")):
        Path("bad.csv").write_text(f"doc,term,count\na,ham,2\na,eggs,{value}\n")
        done = gossamer("fit", "count-vae", "--data", "bad.csv", "--out", "vae")
        assert done.code == 2
        assert done.err.startswith("gossamer: bad.csv, line 3: count must be a ")
        assert said in done.err
    assert not Path("vae").exists()
