"""Masks adjusted without budgets."""

from __future__ import annotations

import numpy as np

from gossamer.models.lowrank.polishing import UPPER, polish_masks


def test_masks_go_where_a_noisy_gradient_says() -> None:
    wanted, rng = np.array([0.2, 1.0, 1.4]), np.random.default_rng(0)
    found = polish_masks(lambda masks, number: masks - wanted + 0.3 * rng.normal(size=3), np.ones(3), range(300))
    assert np.abs(found - wanted).max() < 0.1


def test_masks_stay_within_their_bounds() -> None:
    found = polish_masks(lambda masks, number: np.array([1.0, -1.0]), np.array([0.1, 1.9]), range(50))
    assert found.tolist() == [0.0, UPPER]


def test_no_batch_and_no_slope_change_nothing() -> None:
    start = np.array([0.5, 1.0])
    assert polish_masks(lambda masks, number: np.ones(2), start, range(0)).tolist() == [0.5, 1.0]
    assert polish_masks(lambda masks, number: np.zeros(2), start, range(5)).tolist() == [0.5, 1.0]
    assert start.tolist() == [0.5, 1.0]


def test_every_batch_is_asked_for_once_and_in_order() -> None:
    asked: list[int] = []

    def gradient(masks: np.ndarray, number: int) -> np.ndarray:
        asked.append(number)
        return masks

    polish_masks(gradient, np.ones(1), range(7, 12))
    assert asked == [7, 8, 9, 10, 11]
