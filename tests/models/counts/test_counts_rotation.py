"""Varimax against planted simple structure, a search over all angles, and loadings without structure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.models.counts.rotation import varimax


def criterion(loadings: np.ndarray) -> float:
    return float((loadings**2).var(axis=0).sum())


def test_two_axes_reach_the_best_of_all_angles():
    loadings = np.random.default_rng(1).gamma(0.3, size=(50, 2)) * [1, -1]
    angles = np.linspace(0, np.pi, 3601)
    turns = np.stack([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)
    best = max(criterion(loadings @ turn) for turn in turns)
    assert criterion(loadings @ varimax(loadings)) >= best * (1 - 1e-6)


def test_planted_blocks_come_back_from_any_rotation():
    rng = np.random.default_rng(0)
    simple = np.kron(np.eye(5), np.ones((8, 1))) * rng.uniform(0.5, 1.5, (40, 1))
    turned = simple @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    found = np.abs(turned @ varimax(turned))
    order = np.argsort(found.argmax(axis=0))
    np.testing.assert_allclose(found[:, order], simple, atol=1e-5)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**20), shape=st.tuples(st.integers(1, 12), st.integers(1, 6)))
def test_it_is_a_rotation_and_never_lowers_the_criterion(seed: int, shape: tuple[int, int]):
    loadings = np.random.default_rng(seed).normal(size=shape)
    rotation = varimax(loadings)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(shape[1]), atol=1e-9)
    assert criterion(loadings @ rotation) >= criterion(loadings) - 1e-9


@pytest.mark.parametrize("loadings", [np.zeros((4, 3)), np.ones((4, 1)), np.eye(3)])
def test_nothing_to_turn_is_left_alone_or_turned_harmlessly(loadings: np.ndarray):
    rotation = varimax(loadings)
    assert np.isfinite(rotation).all()
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(loadings.shape[1]), atol=1e-12)
