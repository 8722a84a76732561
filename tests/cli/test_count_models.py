"""A model of counts goes through every verb: fit, evaluate, recommend, inspect, compare."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Gossamer

SMALL = ("--set", "latent_dim=2", "--set", "encoder_dims=[4]", "--set", "epochs=1", "--set", "inputs=norm")
DATA = ("--data", "stdlib-docs", "--option", "tests=false")


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


def test_mistakes_are_sentences(gossamer: Gossamer, mail: Path) -> None:
    done = gossamer("fit", "count-vae", *DATA, "--out", "vae", "--set", "latent_dims=2")
    assert done.code == 2
    assert "count-vae has no setting 'latent_dims' (did you mean 'latent_dim'?)" in done.err
    done = gossamer("fit", "count-vae", "--data", mail.name, "--out", "vae")
    assert done.code == 2
    assert "data must be a data set for count-vae, which takes no file, got 'mail.csv'" in done.err
