"""The report's section on phases: there for models that have some."""

from __future__ import annotations

import numpy as np

from gossamer.report.phases import phases_section


def test_models_with_phases_are_shown():
    found = {
        "names": ["ann"],
        "paths": [np.array([0, 0, 1])],
        "transition": np.array([[0.0, 1.0], [1.0, 0.0]]),
        "shares": np.array([0.7, 0.3]),
        "durations": np.array([[0.5, 0.5], [0.1, 0.9]]),
        "states": [{"phase": "0", "share of steps": 0.7}, {"phase": "1", "share of steps": 0.3}],
        "following": [{"sequence": "ann", "next state": 0}],
    }
    section = phases_section({"hsmm": found, "ease": {}})
    assert section is not None
    assert [type(block).__name__ for block in section.blocks] == ["Figure", "Figure", "Table", "Table"]
    both = phases_section({"hsmm": found, "hmm": found | {"durations": None, "following": []}})
    assert both is not None
    assert [type(block).__name__ for block in both.blocks] == ["Fold", "Fold"]
    assert phases_section({"ease": {}}) is None
