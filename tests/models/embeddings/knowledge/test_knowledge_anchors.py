from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from gossamer.data import Vocabulary
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.knowledge.anchors import initialise_anchors
from gossamer.models.embeddings.knowledge.relations import Relations, free_entries
from gossamer.models.embeddings.sparse_rows import code_rows
from gossamer.testing.planted import planted_anchors


def size_of(table: AnchorEmbedding) -> float:
    return float(table.weight.square().mean().sqrt())


def test_random_basis_is_orthogonal_and_leaves_the_transform_alone() -> None:
    table = AnchorEmbedding(50, 16, 8, num_slots=3)
    before, size = table.transform().toarray(), size_of(table)
    assert initialise_anchors(table, "random", random_state=1) is None
    anchors = table.anchors.detach()
    gram = anchors @ anchors.T
    torch.testing.assert_close(gram, gram[0, 0] * torch.eye(8), atol=1e-6, rtol=0)
    np.testing.assert_array_equal(table.transform().toarray(), before)
    assert size_of(table) == pytest.approx(size, rel=1e-4)


@pytest.mark.parametrize("strategy", ["frequency", "tfidf"])
def test_anchor_objects_are_their_own_anchors(strategy: str) -> None:
    """T_{a,a} = 1 of appendix H; with all other rows at zero this is vocabulary selection."""
    table = AnchorEmbedding(40, 6, 5, num_slots=3, padding_idx=7)
    before, size = table.transform().toarray(), size_of(table)
    counts = np.arange(40)[::-1].copy()
    ids = initialise_anchors(table, strategy, counts=counts)
    assert ids is not None
    np.testing.assert_array_equal(ids, [0, 1, 2, 3, 4])
    after = table.transform().toarray()
    np.testing.assert_array_equal(after[:5], np.eye(5))
    np.testing.assert_array_equal(after[5:], before[5:])
    torch.testing.assert_close(table(torch.arange(5)), table.anchors)
    assert size_of(table) == pytest.approx(size, rel=1e-4)


@pytest.mark.parametrize("strategy", ["clustering", "frequency-clustering", "coreset"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_with_features_rows_start_near_their_anchors(strategy: str, form: str) -> None:
    generator = np.random.default_rng(0)
    features = np.abs(generator.normal(size=(60, 5))).astype(np.float32)
    features[11] = 0  # a word that has no feature
    table = AnchorEmbedding(60, 8, 10, num_slots=4, padding_idx=3)
    before = table.transform().toarray()
    given = features if form == "dense" else sparse.csr_array(features)
    ids = initialise_anchors(table, strategy, counts=np.arange(60), features=given, random_state=2)
    assert ids is not None
    transform = table.transform().toarray()
    own = np.setdiff1d(np.arange(10), np.flatnonzero(ids == 3))
    np.testing.assert_array_equal(transform[ids[own]], np.eye(10)[own])
    assert (transform[3] == 0).all()
    np.testing.assert_array_equal(transform[11], before[11] if 11 not in ids else np.eye(10)[list(ids).index(11)])
    # The rotation keeps lengths and angles, so the codes are those of the features themselves.
    others = np.setdiff1d(np.arange(60), [*ids, 3, 11])
    expected = code_rows(features, features[ids], 4).toarray()
    np.testing.assert_allclose(transform[others], expected[others], atol=1e-3)


def test_features_wider_than_the_table_are_projected() -> None:
    generator = np.random.default_rng(1)
    table = AnchorEmbedding(200, 16, 12, num_slots=4)
    size = size_of(table)
    ids = initialise_anchors(table, "clustering", features=generator.normal(size=(200, 50)), random_state=0)
    assert ids is not None
    assert len(set(ids.tolist())) == 12
    assert size_of(table) == pytest.approx(size, rel=1e-4)


def test_planted_mixtures_are_recovered_from_features() -> None:
    """Objects are mixtures of two of 5 anchors, which are frequent objects themselves: the start is the solution."""
    planted = planted_anchors(num_items=60, anchor_dim=8, random_state=0)
    features = np.concatenate([planted.item_anchors, planted.item_transform @ planted.item_anchors])
    table = AnchorEmbedding(65, 8, 5, num_slots=2)
    ids = initialise_anchors(table, "frequency", counts=-np.arange(65), features=features.astype(np.float32))
    assert ids is not None
    np.testing.assert_allclose(table.transform().toarray()[5:], planted.item_transform, atol=1e-3)


def test_relations_of_anchor_objects_are_exempt() -> None:
    table = AnchorEmbedding(30, 4, 3)
    ids = initialise_anchors(table, "frequency", counts=-np.arange(30))
    assert ids is not None
    relations = Relations.from_edges([(0, 9), (2, 9), (1, 20), (9, 20)], Vocabulary.numbered(30))
    table.set_exempt(free_entries(relations, ids))
    assert table.exempt is not None
    exempt = table.exempt.numpy()
    np.testing.assert_array_equal(exempt[9], [True, False, True])
    np.testing.assert_array_equal(exempt[20], [False, True, False])
    assert exempt.sum() == 3 + 3


def test_the_same_seed_gives_the_same_start() -> None:
    features = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    tables = [AnchorEmbedding(40, 8, 6, num_slots=3) for _ in range(2)]
    for table in tables:
        initialise_anchors(table, "coreset", features=features, random_state=9)
    torch.testing.assert_close(tables[0].weight, tables[1].weight, rtol=0, atol=0)


def test_bad_input_is_named() -> None:
    table = AnchorEmbedding(10, 4, 3)
    with pytest.raises(ValueError, match=r"strategy must be one of 'random', 'frequency', .*, got 'best'"):
        initialise_anchors(table, "best")
    with pytest.raises(ValueError, match="features must have 10 rows, one per id, got 9"):
        initialise_anchors(table, "clustering", features=np.ones((9, 2)))
    with pytest.raises(ValueError, match="counts must have 10 rows, one per id, got 11"):
        initialise_anchors(table, "frequency", counts=np.ones(11))
    with pytest.raises(ValueError, match="counts must be given for strategy 'frequency', got None"):
        initialise_anchors(table, "frequency")
