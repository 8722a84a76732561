"""A model of sentences goes through every verb that is for it: fit, evaluate, inspect."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import DOCUMENTS, Gossamer

SMALL = {"latent_dim": 4, "embedding_dim": 6, "hidden_dim": 8, "epochs": 1, "batch_size": 16, "max_length": 3}


def test_a_sentence_vae_is_fitted_judged_and_shown(gossamer: Gossamer, tmp_path: Path) -> None:
    texts = [("ham eggs tea toast", "vote court law")[row % 2] for row in range(40)]
    lines = ["body,topic", *(f"{text},{'ab'[row % 2]}" for row, text in enumerate(texts))]
    lines += [f"ham law {row},a" for row in range(20)]  # others are all in the test part, too, and dropped
    (tmp_path / "letters.csv").write_text("\n".join(lines) + "\n")
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


def test_a_setting_that_is_not_there_is_named(gossamer: Gossamer) -> None:
    done = gossamer("fit", "sentence-vae", "--data", "hsvae-yahoo", "--out", "vae", "--set", "sparsiti=0.5")
    assert done.code == 2
    assert "has no setting 'sparsiti' (did you mean 'sparsity'?)" in " ".join(done.err.split())
