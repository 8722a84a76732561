"""Drawings of communities: places that are the same on every run, and texts for those who cannot see them."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.report.community_figures import (
    calibration,
    community_maps,
    neighbour_places,
    precision_recall,
    principal_places,
)

SPACE = np.random.default_rng(0).normal(size=(12, 5))


def test_principal_places_are_uncorrelated_and_fall_in_size() -> None:
    places = principal_places(SPACE)
    covariance = places.T @ places
    np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0, atol=1e-9)
    assert (np.diff(np.diag(covariance)) <= 0).all()
    assert (principal_places(np.ones((2, 1)))[:, 1:] == 0).all()


def test_few_communities_are_placed_without_tsne() -> None:
    np.testing.assert_array_equal(neighbour_places(SPACE[:4]), principal_places(SPACE[:4], 2))


@pytest.mark.slow
def test_tsne_is_the_same_on_every_run() -> None:
    np.testing.assert_array_equal(neighbour_places(SPACE), neighbour_places(SPACE))


def test_drawings_say_what_they_show() -> None:
    maps = community_maps(SPACE[:4], np.array([1, 7, 3, 0]))
    assert [drawing.title for drawing in maps] == ["Communities by t-SNE", "Components 1 and 2", "Components 1 and 3"]
    assert "4 communities, the largest are 1 with 7, 2 with 3, 0 with 1 members" in maps[0].alt
    curve = {"ours": [(0.2, 0.8), (1.0, 0.1)]}
    assert "ours from 0.80 at recall 0.20 to 0.10 at 1.00" in precision_recall(curve).alt
    assert "ours says 1.00 of its likeliest tenth, of which 0.10 are targets" in calibration(curve).alt
    assert "<svg" in calibration(curve | {"other": [(0.0, 0.0), (0.5, 0.5)]}).svg
