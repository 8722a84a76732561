from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from gossamer.data.text import build_sentences
from gossamer.models.embeddings.text import classifier
from gossamer.models.embeddings.text.classifier import AnchorTextClassifier
from gossamer.models.embeddings.text.text_training import pad_texts
from gossamer.testing.contracts import two_topics

SMALL = {"embedding_dim": 8, "num_filters": 6, "batch_size": 12, "learning_rate": 0.02, "epochs": 15}


def test_pruned_anchors_keep_to_the_ratio_and_still_know_the_topics():
    parts = two_topics()
    model = AnchorTextClassifier(num_anchors=4, ratio=1.8, **SMALL).fit(parts.train)
    assert model.num_values() <= len(parts.train.vocabulary) * 8 / 1.8
    assert model.size_report()["ratio"] >= 1.8
    assert model.evaluate(parts.test)["accuracy"] == 1.0
    assert model.num_bytes() >= 4 * model.num_values()


def test_interrupted_training_ends_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    parts = two_topics()
    settings = {**SMALL, "num_anchors": 4, "ratio": 1.8}
    whole = AnchorTextClassifier(**settings).fit(parts.train)
    batches = iter(range(20))

    def stop_after_twenty(*arguments: Any) -> Tensor:
        if next(batches, None) is None:
            raise RuntimeError("enough")
        return pad_texts(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(classifier, "pad_texts", stop_after_twenty)
        with pytest.raises(RuntimeError, match="enough"):
            AnchorTextClassifier(**settings).fit(parts.train, checkpoint=tmp_path / "run")
    second = AnchorTextClassifier(**settings).fit(parts.train, checkpoint=tmp_path / "run")
    for name, array in whole.learned_arrays().items():
        np.testing.assert_array_equal(array, second.learned_arrays()[name], err_msg=name)


def test_classes_are_found_by_name_and_words_by_their_spelling():
    parts = two_topics()
    model = AnchorTextClassifier(num_anchors=4, ratio=None, **SMALL).fit(parts.train)
    turned = build_sentences(["b1 and b2", "a1 nonsense a2"], labels=["b", "a"], unknown=None)
    assert model.evaluate(turned)["accuracy"] == 1.0
    other = build_sentences(["b1 and b2", "a1 and a2"], labels=["a new class", "a"], unknown=None)
    assert model.evaluate(other)["accuracy"] == 0.5
    assert model.predict_probs(turned).sum(axis=1) == pytest.approx(1.0)


def test_early_stopping_keeps_the_best_epoch():
    parts = two_topics()
    settings = {**SMALL, "epochs": 25}
    model = AnchorTextClassifier(method="lowrank", ratio=2.0, patience=2, **settings).fit(parts.train, parts.valid)
    assert len(model.history_["epochs"]) < 25
    assert model.evaluate(parts.valid)["accuracy"] == max(epoch["accuracy"] for epoch in model.history_["epochs"])


def test_data_without_labels_are_refused():
    with pytest.raises(ValueError, match=r"data must have at least one text, and a label for each, got Sentences"):
        AnchorTextClassifier().fit(build_sentences(["a b"]))
