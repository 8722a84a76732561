from __future__ import annotations

import io

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets import glove
from gossamer.datasets.glove import WordVectors

VECTORS = np.arange(100, dtype=np.float32).reshape(2, 50) / 64


def test_both_layouts_give_the_same_table(put, monkeypatch):
    monkeypatch.setattr(glove, "NUM_WORDS", {glove.OFFICIAL: 2, glove.REDUCED: 2})
    stream = io.BytesIO()
    np.savez(stream, words=np.array(["the", "größe"]), vectors=VECTORS.astype(np.float16))
    put(f"glove/{glove.REDUCED}", stream.getvalue())
    reduced = datasets.load("glove")
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(["the", "größe"], VECTORS.tolist(), strict=True)]
    put(f"glove/{glove.OFFICIAL}", "\n".join(lines) + "\n")
    official = datasets.load("glove")
    assert reduced.words == official.words
    np.testing.assert_allclose(official.vectors, VECTORS)
    np.testing.assert_allclose(reduced.vectors, VECTORS, atol=1e-3)
    assert len(official) == 2


def test_tables_of_another_shape_are_refused():
    from gossamer.data import Vocabulary

    with pytest.raises(ValueError, match="vectors must be finite and 2 × 50, got float32"):
        WordVectors(Vocabulary(["a", "b"]), np.zeros((2, 3), dtype=np.float32))


@pytest.mark.data
def test_real_glove():
    table = datasets.load("glove")
    unit = table.vectors / np.linalg.norm(table.vectors, axis=1, keepdims=True)
    king, man, woman = (unit[table.words.index_of([word])[0]] for word in ("king", "man", "woman"))
    nearest = np.argsort(-(unit @ (king - man + woman)))[:3]
    assert "queen" in [table.words[index] for index in nearest]
