from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from scipy.sparse import csr_array

from gossamer.models.embeddings.rivals.ksvd import KSvdEmbedding, better_codes, leading_pair, update_atoms
from gossamer.models.embeddings.rivals.matching_pursuit import match_rows


def squared_error(weight: np.ndarray, anchors: np.ndarray, codes: csr_array) -> float:
    return float(np.square(weight - codes @ anchors).sum())


def test_many_power_steps_find_the_leading_singular_pair():
    generator = np.random.default_rng(0)
    target = generator.normal(size=(20, 5)) @ np.diag([4.0, 2.0, 1.0, 1.0, 0.5])
    atom, weights = leading_pair(target, generator.normal(size=5), steps=200)
    left, sizes, right = np.linalg.svd(target, full_matrices=False)
    np.testing.assert_allclose(np.outer(weights, atom), sizes[0] * np.outer(left[:, 0], right[0]), atol=1e-6)


def test_an_atom_with_nothing_to_explain_keeps_its_direction():
    atom, weights = leading_pair(np.zeros((3, 2)), np.array([0.0, 2.0]))
    assert atom.tolist() == [0.0, 1.0]
    assert not weights.any()


def test_the_error_never_rises():
    generator = np.random.default_rng(0)
    weight = generator.normal(size=(150, 10)).astype(np.float32)
    anchors = weight[:20].copy()
    codes = match_rows(weight, anchors, 3)
    errors = [squared_error(weight, anchors, codes)]
    for _ in range(5):
        anchors, codes = update_atoms(weight, anchors, codes)
        errors.append(squared_error(weight, anchors, codes))
        codes = better_codes(weight, anchors, codes, match_rows(weight, anchors, 3))
        errors.append(squared_error(weight, anchors, codes))
    assert all(late <= early * (1 + 1e-5) for early, late in pairwise(errors))
    assert errors[-1] < 0.8 * errors[0]
    assert np.diff(codes.indptr).max() <= 3


def test_an_unused_atom_becomes_the_worst_row():
    weight = np.array([[1.0, 0.0], [0.0, 3.0]], dtype=np.float32)
    codes = csr_array(np.array([[1.0, 0.0], [0.0, 0.0]]))
    anchors, _ = update_atoms(weight, np.array([[1.0, 0.0], [1.0, 0.0]]), codes)
    np.testing.assert_allclose(anchors, [[1.0, 0.0], [0.0, 1.0]])


def test_a_planted_dictionary_is_found():
    generator = np.random.default_rng(0)
    anchors = generator.normal(size=(10, 16))
    codes = np.zeros((600, 10))
    for row in codes:
        row[generator.choice(10, 2, replace=False)] = generator.choice([-1, 1], 2) * generator.uniform(1, 2, 2)
    weight = torch.from_numpy(codes @ anchors).float()
    table = KSvdEmbedding.from_pretrained(weight, num_anchors=10, num_slots=2)
    assert (table.weight - weight).square().sum() < 0.05 * weight.square().sum()
