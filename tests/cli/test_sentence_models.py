"""A model of sentences goes through every verb that is for it: fit, evaluate, inspect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import DOCUMENTS, Gossamer

from gossamer.models.spikeslab import SentenceProbe, SentenceVAE

SMALL = {"latent_dim": 4, "embedding_dim": 6, "hidden_dim": 8, "epochs": 1, "batch_size": 16, "max_length": 3}


def write_letters(folder: Path) -> None:
    texts = [("ham eggs tea toast", "vote court law")[row % 2] for row in range(40)]
    lines = ["body,topic", *(f"{text},{'ab'[row % 2]}" for row, text in enumerate(texts))]
    lines += [f"ham law {row},a" for row in range(20)]  # others are all in the test part, too, and dropped
    (folder / "letters.csv").write_text("\n".join(lines) + "\n")


def shows_words_of_dimensions(page: str, model: SentenceVAE) -> bool:
    words = [row["words"] for row in model.explain()["dimensions"] if row["words"]]
    return bool(words) and all(f'<span class="value">{of_one}</span>' in page for of_one in words)


def test_a_sentence_vae_is_fitted_judged_and_shown(gossamer: Gossamer, tmp_path: Path) -> None:
    write_letters(tmp_path)
    settings = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    done = gossamer(
        "fit", "sentence-vae", "--data", "letters.csv", *DOCUMENTS, "--out", "vae", "--set", "sparsity=0.5", *settings
    )
    assert done.code == 0, done.err
    measured = json.loads(gossamer("evaluate", "vae", "--json").out)["metrics"]
    assert {"average_hoyer_sample", "reconstruction", "kl_z", "kl_gamma"} <= set(measured)
    done = gossamer("inspect", "vae", "--out", "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Dimensions that are off, by class" in page
    assert "Sentences, and the likeliest words given their codes" in page
    assert shows_words_of_dimensions(page, SentenceVAE.load(tmp_path / "vae"))


@pytest.mark.parametrize("end_to_end", [False, True])
def test_a_probe_shows_the_codes_it_reads(gossamer: Gossamer, tmp_path: Path, end_to_end: bool) -> None:
    write_letters(tmp_path)
    settings = ["--set", f"vae={json.dumps(SMALL)}", "--set", "epochs=1", "--set", f"end_to_end={end_to_end}".lower()]
    done = gossamer("fit", "sentence-probe", "--data", "letters.csv", *DOCUMENTS, "--out", "probe", *settings)
    assert done.code == 0, done.err
    done = gossamer("inspect", "probe", "--out", "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert ("Dimensions that are off, by class" in page) is not end_to_end
    assert end_to_end or shows_words_of_dimensions(page, SentenceProbe.load(tmp_path / "probe").vae_)


def test_a_setting_that_is_not_there_is_named(gossamer: Gossamer) -> None:
    done = gossamer("fit", "sentence-vae", "--data", "hsvae-yahoo", "--out", "vae", "--set", "sparsiti=0.5")
    assert done.code == 2
    assert "has no setting 'sparsiti' (did you mean 'sparsity'?)" in " ".join(done.err.split())
