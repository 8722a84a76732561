"""Embeddings of another family as features of series."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.data import Interactions, Parts, Sequences, Vocabulary
from gossamer.runner.embeddings import embed_users, with_embeddings
from gossamer.runner.specs import DataSpec
from gossamer.testing.right_answers import two_blocks

WHO = Vocabulary(["ann", "bob"])


def known() -> Interactions:
    return Interactions.from_pairs(["bob", "ann", "ann"], ["tea", "jam", "tea"], rating=[1.0, 1.0, 1.0])


def test_vectors_find_their_series(monkeypatch):
    series = Sequences(np.zeros((4, 1)), np.array([0, 2, 4]), names=WHO)
    monkeypatch.setattr(datasets, "load", lambda name, **options: known())
    spec = DataSpec("ml-1m-genres", embed={"model": "als", "settings": {"num_factors": 2, "epochs": 2}})
    parts = with_embeddings(Parts(series, None, series[:1]), spec)
    vectors = embed_users(known(), spec.embed)
    rows = known().users.find(["ann", "bob"])
    np.testing.assert_array_equal(parts.train.features, vectors[rows])
    np.testing.assert_array_equal(parts.test.features, vectors[rows[:1]])
    stranger = Sequences(np.zeros((2, 1)), np.array([0, 2]), names=Vocabulary(["eve"]))
    with pytest.raises(ValueError, match="series must all be of people with interactions, got 'eve'"):
        with_embeddings(Parts(stranger, None, stranger), spec)


@pytest.mark.parametrize(
    ("model", "settings", "width"),
    [
        ("communities", {"embedding_dim": 4, "num_communities": 2, "item_edges": 3, "epochs": 1, "batch_size": 12}, 2),
        ("count-vae", {"latent_dim": 3, "encoder_dims": [4], "epochs": 1}, 3),
    ],
)
def test_codes_of_other_families(model, settings, width):
    people = two_blocks().history
    vectors = embed_users(people, {"model": model, "settings": settings})
    assert vectors.shape == (len(people), width)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()


def test_what_cannot_embed_is_named():
    with pytest.raises(ValueError, match=r"embed\.model must be one that describes users, such as als, .*, got 'ease'"):
        embed_users(known(), {"model": "ease"})
    parts = Parts(known(), None, known())
    with pytest.raises(ValueError, match="data must be series with the option 'ratings' to embed their people, got"):
        with_embeddings(parts, DataSpec("ml-1m", embed={"model": "als"}))
    with pytest.raises(ValueError, match="embed has no key 'modle'"):
        with_embeddings(parts, DataSpec("ml-1m", embed={"modle": "als"}))
