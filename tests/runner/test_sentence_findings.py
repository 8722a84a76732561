"""What the report is told of the codes of sentences."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from gossamer.models.spikeslab import SentenceProbe, SentenceVAE
from gossamer.report.codes import codes_section
from gossamer.runner.sentence_findings import find_sentence_codes, reads_sentences, sentence_coder
from gossamer.testing.right_answers import two_topics


@pytest.fixture(scope="module")
def model() -> SentenceVAE:
    settings = {"latent_dim": 4, "embedding_dim": 6, "hidden_dim": 8, "epochs": 1, "batch_size": 18, "max_length": 8}
    return SentenceVAE(**settings).fit(two_topics().train)


def test_codes_meanings_and_classes_are_found(model):
    data = two_topics().train
    found = find_sentence_codes(model, data)
    assert reads_sentences(model)
    assert not reads_sentences(object())
    assert found["codes"].shape == (len(data), 4)
    assert found["patterns"].shape == (2, 4)
    assert found["class_word_kl"][0, 1] > 0
    assert all(row["value"] != 0 for row in found["dimension_sentences"])
    assert len(found["sentences"]) == len(found["rebuilt_sentences"]) == 6
    assert codes_section({"sentence-vae": found}) is not None


def test_without_labels_there_are_no_classes_and_without_sentences_nothing(model):
    bare = dataclasses.replace(two_topics().train, labels=None, label_names=None)
    assert "patterns" not in find_sentence_codes(model, bare)
    assert find_sentence_codes(model, bare[:0]) == {}
    assert find_sentence_codes(model, np.eye(3)) == {}


def test_a_probe_is_read_by_its_codes_and_an_end_to_end_classifier_has_none(model):
    assert sentence_coder(model) is model
    vae = {"latent_dim": 4, "embedding_dim": 6, "hidden_dim": 8, "epochs": 1, "batch_size": 18, "max_length": 8}
    probe = SentenceProbe(vae=vae, epochs=1).fit(two_topics().train)
    assert sentence_coder(probe) is probe.vae_
    assert sentence_coder(SentenceProbe(vae=vae, epochs=1, end_to_end=True).fit(two_topics().train)) is None
