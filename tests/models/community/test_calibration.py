"""Platt's two numbers: those of logistic regression, finite also where scores separate perfectly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from gossamer.models.community.calibration import fit_platt


def test_the_true_slope_and_intercept_are_found() -> None:
    generator = np.random.default_rng(0)
    scores = generator.normal(size=50_000)
    slope, intercept = fit_platt(scores, generator.random(50_000) < expit(1.7 * scores - 2))
    assert slope == pytest.approx(1.7, abs=0.06)
    assert intercept == pytest.approx(-2, abs=0.06)


def test_perfect_separation_stays_finite() -> None:
    slope, intercept = fit_platt(np.array([-1.0, 1.0] * 50), np.array([False, True] * 50))
    assert np.isfinite([slope, intercept]).all()
    assert slope > 1
