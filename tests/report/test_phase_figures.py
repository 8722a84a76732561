"""Drawings of phases say what they show."""

from __future__ import annotations

import numpy as np

from gossamer.report.phase_figures import duration_curves, phase_timeline, transition_graph


def test_a_timeline_says_phase_by_phase():
    drawing = phase_timeline(["ann", "bob"], [np.array([0, 0, 1]), np.array([5])])
    assert drawing.alt == "ann: 0 for 2, 1 for 1; bob: 5 for 1."
    assert drawing.svg.startswith("<svg")
    assert "ann" in drawing.svg
    assert phase_timeline([], []).alt == "."


def test_moves_and_durations():
    moves = np.array([[0.0, 0.97, 0.03], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    drawing = transition_graph(moves, np.array([0.5, 0.3, 0.2]))
    assert "0 to 1 (97%)" in drawing.alt
    drawing = duration_curves(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    assert drawing.alt == "On average: phase 0 1.5 steps, phase 1 3.0 steps."
