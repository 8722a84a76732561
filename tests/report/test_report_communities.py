"""The report's section on communities: there for models that have some, or that predict pairs."""

from __future__ import annotations

import numpy as np

from gossamer.report.communities import communities_section


def test_models_are_shown_by_what_they_have() -> None:
    curve = [(0.1, 0.9), (1.0, 0.1)]
    with_some = {
        "space": np.random.default_rng(0).normal(size=(4, 6)),
        "sizes": np.array([5, 0, 2, 1]),
        "in effect": 2.5,
        "per user": 1.2,
        "rows": [{"community": "0", "members": 5, "share of weight": 0.6, "typical items": "tea"}],
        "precision recall": curve,
        "calibration": curve,
    }
    both = communities_section({"bihgnn": with_some, "graphsage": {"precision recall": curve, "calibration": curve}})
    assert both is not None
    assert [type(block).__name__ for block in both.blocks] == ["Fold", "Figure"]
    assert communities_section({"ease": {}}) is None
