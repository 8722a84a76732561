"""The drawing of where a budget went."""

from __future__ import annotations

from gossamer.report.budget_figure import draw_layer_shares


def test_every_layer_is_named_and_spoken():
    rows = [
        {"layer": "conv1", "macs left": 0.25, "params left": 0.5},
        {"layer": "head", "macs left": 1, "params left": 1},
    ]
    drawing = draw_layer_shares(rows)
    assert drawing.alt == "What is left of each layer, in multiply-adds: conv1 25%; head 100%."
    for text in ("conv1", "head", "left after compression", "macs", "params"):
        assert text in drawing.svg
