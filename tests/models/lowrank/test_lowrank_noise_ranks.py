"""Ranks of planted signals in noise."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.lowrank.noise_ranks import gavish_donoho_rank, vbmf_rank


@pytest.mark.parametrize("shape", [(40, 40), (30, 60), (60, 30)])
@pytest.mark.parametrize("rank", [0, 1, 4])
def test_the_planted_rank_is_found(shape, rank):
    rng = np.random.default_rng(rank)
    signal = 3 * rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    values = np.linalg.svd(signal + rng.normal(size=shape), compute_uv=False)
    assert gavish_donoho_rank(values, shape) == rank
    assert vbmf_rank(values, shape) == rank


def test_a_matrix_of_zeros_has_no_signal():
    assert vbmf_rank(np.zeros(4), (4, 6)) == 0


def test_one_triplet_is_no_error():
    assert vbmf_rank(np.array([3.0]), (1, 5)) in (0, 1)
