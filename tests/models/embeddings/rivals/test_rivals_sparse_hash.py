from __future__ import annotations

import numpy as np
import torch

from gossamer.models.embeddings.rivals.sparse_hash import SparseHashEmbedding, match_nearest


def test_weights_are_least_squares_on_the_nearest_anchors():
    generator = np.random.default_rng(0)
    weight, anchors = generator.normal(size=(30, 8)), generator.normal(size=(12, 8))
    codes = match_nearest(weight, anchors, 3).toarray()
    distances = np.linalg.norm(weight[:, np.newaxis] - anchors, axis=2)
    for row, code, distance in zip(weight, codes, distances, strict=True):
        nearest = np.sort(np.argsort(distance)[:3])
        np.testing.assert_array_equal(np.flatnonzero(code), nearest)
        np.testing.assert_allclose(code[nearest], np.linalg.lstsq(anchors[nearest].T, row)[0], atol=5e-3)


def test_it_has_the_size_of_the_paper():
    table = SparseHashEmbedding(10_000, 400, num_anchors=500, num_slots=10)
    assert table.num_values() == 500 * 400 + 10_000 * 10
    at_ratio = SparseHashEmbedding(10_000, 400, ratio=10)
    assert (at_ratio.num_anchors, at_ratio.num_slots) == (500, 20)


def test_clusters_become_anchors():
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(5, 6, generator=generator) * 4
    weight = centres[torch.arange(100) % 5] * (1 + 0.1 * torch.randn(100, 1, generator=generator))
    table = SparseHashEmbedding.from_pretrained(weight, num_anchors=5, num_slots=1)
    torch.testing.assert_close(table.weight, weight, atol=0.05, rtol=0)
