from __future__ import annotations

import pytest

from gossamer.data.text import build_sentences
from gossamer.models.spikeslab import SentenceProbe
from gossamer.testing.right_answers import two_topics

SMALL_VAE = {"latent_dim": 4, "embedding_dim": 8, "hidden_dim": 16, "epochs": 2, "batch_size": 12, "max_length": 8}


def test_it_says_how_good_codes_are_and_how_sparse():
    parts = two_topics()
    model = SentenceProbe(vae=SMALL_VAE, epochs=2, patience=1).fit(parts.train, parts.valid)
    measured = model.evaluate(parts.test)
    assert 0 <= measured["accuracy"] <= 1
    assert measured["average_hoyer_sample"] == model.vae_.evaluate(parts.test)["average_hoyer_sample"]
    assert model.predict_probs(parts.test).sum(axis=1) == pytest.approx([1] * 6)


def test_bad_settings_and_missing_labels_are_named():
    parts = two_topics()
    with pytest.raises(ValueError, match=r"vae must be settings of SentenceVAE \(prior, .*\), got {'size': 3}"):
        SentenceProbe(vae={"size": 3}).fit(parts.train)
    with pytest.raises(ValueError, match="latent_dim must be an integer >= 2, got 1"):
        SentenceProbe(vae={"latent_dim": 1}).fit(parts.train)
    with pytest.raises(ValueError, match="data must have a label for each sentence, got none"):
        SentenceProbe().fit(build_sentences(["a b"]))
    model = SentenceProbe(vae=SMALL_VAE, end_to_end=True, epochs=1).fit(parts.train)
    with pytest.raises(ValueError, match=r"data must have the classes \['a', 'b'\], got \('x',\)"):
        model.evaluate(build_sentences(["a0 and"], labels=["x"]))
