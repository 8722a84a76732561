"""Vectors as word2vec text: the format, names with spaces, and which models have any."""

from __future__ import annotations

from urllib.parse import unquote

import numpy as np
import pytest
import torch

from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community import LightGCN
from gossamer.models.counts import CDAE, CountVAE
from gossamer.models.embeddings import AnchorRecommender, AnchorTextClassifier
from gossamer.models.linear import ALS, EASE, BiasedMF
from gossamer.models.spikeslab import SentenceVAE
from gossamer.serving.export import vectors as vectors_module
from gossamer.serving.export import write_word2vec
from gossamer.serving.export.vectors import escape_name, vectors_of
from gossamer.testing.right_answers import two_blocks, two_themes, two_topics


def read_word2vec(path):
    """Read as gensim does: a header, then lines cut at single spaces."""
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    count, width = map(int, header.split())
    rows = [line.rstrip().split(" ") for line in lines]
    assert len(rows) == count
    assert all(len(row) == width + 1 for row in rows)
    return [unquote(row[0]) for row in rows], np.array([row[1:] for row in rows], dtype=np.float32)


def test_item_factors(tmp_path):
    model = ALS(num_factors=3, epochs=1).fit(two_blocks().history)
    write_word2vec(model, tmp_path / "items.txt")
    names, found = read_word2vec(tmp_path / "items.txt")
    assert names == model.items_.ids.to_list()
    np.testing.assert_array_equal(found, model.item_factors_)  # nine digits hold a float32 exactly


def test_names_with_spaces(tmp_path):
    model = ALS(num_factors=3, epochs=1).fit(two_blocks().history)
    awkward = ["new york", "100 %", "a\nb", "", "naïve\u00a0", "%20", *[f"x{i}" for i in range(6)]]
    model.items_ = Vocabulary(awkward)
    write_word2vec(model, tmp_path / "items.txt")
    names, _ = read_word2vec(tmp_path / "items.txt")
    assert [name.strip("\x00") for name in names] == awkward
    assert escape_name("naïve") == "naïve"


def test_anchors_are_written_a_block_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors_module, "ROWS_AT_ONCE", 5)
    model = AnchorRecommender(embedding_dim=3, user_anchors=4, item_anchors=3, epochs=1).fit(two_blocks().history)
    write_word2vec(model, tmp_path / "users.txt", "users")
    names, found = read_word2vec(tmp_path / "users.txt")
    assert names == model.users_.ids.to_list()
    with torch.no_grad():
        np.testing.assert_allclose(found, model.model_.users(torch.arange(len(names))), atol=1e-6)


def test_which_models_have_vectors():
    history, texts, counts = two_blocks().history, two_topics().train, two_themes().train
    small = {"epochs": 1, "batch_size": 12}
    words = {"embedding_dim": 4, **small}
    expected = [
        (BiasedMF(num_factors=2, epochs=1).fit(history), {"items": 2, "users": 2}),
        (BiasedMF(num_factors=0, epochs=1).fit(history), {}),
        (LightGCN(embedding_dim=3, **small).fit(history), {"items": 3, "users": 3}),
        (CDAE(hidden_dim=5, **small).fit(history), {"items": 5}),
        (CountVAE(latent_dim=2, encoder_dims=[4], inference="amortised", **small).fit(counts), {"terms": 2}),
        (AnchorTextClassifier(num_anchors=3, ratio=None, num_filters=2, **words).fit(texts), {"words": 4}),
        (SentenceVAE(latent_dim=2, hidden_dim=3, **words).fit(texts), {"words": 4}),
        (EASE().fit(history), {}),
    ]
    for model, widths in expected:
        assert {name: found.width for name, found in vectors_of(model).items()} == widths, model


def test_mistakes(tmp_path):
    history = two_blocks().history
    with pytest.raises(ValueError, match="the model must be one with vectors, such as als or count-vae, got EASE"):
        write_word2vec(EASE().fit(history), tmp_path / "v.txt")
    with pytest.raises(ValueError, match="table must be one of items, got 'words'"):
        write_word2vec(ALS(num_factors=2, epochs=1).fit(history), tmp_path / "v.txt", "words")
    assert list(tmp_path.iterdir()) == []
