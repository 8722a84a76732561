from __future__ import annotations

import logging

import pytest

from gossamer.data.text import build_sentences
from gossamer.models.spikeslab import SentenceProbe, sentence_probe
from gossamer.models.spikeslab.module import SentenceNetwork
from gossamer.testing.right_answers import two_topics

SMALL_VAE = {"latent_dim": 4, "embedding_dim": 8, "hidden_dim": 16, "epochs": 2, "batch_size": 12, "max_length": 8}


def test_it_says_how_good_codes_are_and_how_sparse():
    parts = two_topics()
    model = SentenceProbe(vae=SMALL_VAE, epochs=2, patience=1).fit(parts.train, parts.valid)
    measured = model.evaluate(parts.test)
    assert 0 <= measured["accuracy"] <= 1
    assert measured["average_hoyer_sample"] == model.vae_.evaluate(parts.test)["average_hoyer_sample"]
    assert model.predict_probs(parts.test).sum(axis=1) == pytest.approx([1] * 6)


@pytest.mark.parametrize("refine_steps", [0, 2])
def test_sentences_are_encoded_as_often_as_they_have_to_be(refine_steps, monkeypatch, caplog):
    parts, seen = two_topics(), []
    features = SentenceNetwork.features
    monkeypatch.setattr(
        SentenceNetwork, "features", lambda net, batch: seen.append(batch.num_sentences) or features(net, batch)
    )
    strange = build_sentences(["a0 and nothing", "b0 or"], labels=["a", "b"], unknown=None)
    with caplog.at_level(logging.WARNING):
        model = SentenceProbe(vae=SMALL_VAE | {"refine_steps": refine_steps}, epochs=4, patience=4, batch_size=6)
        model.fit(parts.train, strange)
    assert seen.count(2) == 1  # the validation sentences, over four epochs
    assert caplog.text.count("words of validation are not in the vocabulary") == 1
    whole = model.vae_.evaluate(parts.test) | model.vae_.class_measures(parts.test)
    seen.clear()
    measured = model.evaluate(parts.test)
    assert len(seen) == (2 if refine_steps else 1)
    assert {name: measured[name] for name in whole} == whole
    assert measured["accuracy"] == (model.predict(parts.test) == parts.test.labels).mean()


def test_classes_of_many_sentences_are_predicted_in_blocks(monkeypatch):
    parts = two_topics()
    model = SentenceProbe(vae=SMALL_VAE, epochs=1).fit(parts.train)
    monkeypatch.setattr(sentence_probe, "PROBED_AT_ONCE", 4)
    sizes = []
    model.network_.register_forward_hook(lambda module, args, output: sizes.append(len(args[0])))
    assert model.predict_probs(parts.test).sum(axis=1) == pytest.approx([1] * 6)
    assert sizes == [4, 2]


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
