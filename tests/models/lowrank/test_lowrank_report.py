"""The report: rows per layer, totals, text, and a trip through JSON."""

from __future__ import annotations

import json

from gossamer.models.lowrank import CompressionReport, LayerChange
from gossamer.models.lowrank.sqp import Iteration

REPORT = CompressionReport(
    layers=(
        LayerChange(("conv",), "Conv2d", (8, 3, 3, 3), 2, 8, 1000, 400, 216, 70),
        LayerChange(("words", "output"), "Embedding + Linear", (30, 12), None, 12, 0, 0, 360, 360, "kept by name"),
    ),
    before={"macs": 2000.0, "params": 600.0, "bytes": 2400.0, "milliseconds": 2.0},
    after={"macs": 1400.0, "params": 454.0, "bytes": 1816.0, "milliseconds": 1.5},
    limits={"macs": 1400.0},
    allocator="cobla",
    scheme="spatial",
    fitted=True,
    recalibrated=False,
    seconds=1.0,
    iterations=(Iteration(0, 1.5, 1.0, (0.25,)),),
)


def test_shares_and_rows():
    assert REPORT.share("macs") == 0.7
    assert (REPORT.layers_share("macs"), REPORT.layers_share("params")) == (0.4, 70 / 216)
    conv, words, model = REPORT.table()
    assert (conv["rank"], conv["macs left"], conv["macs of budget"]) == ("2 of 8", 0.4, 400 / 1400)
    assert (words["layer"], words["rank"], words["stayed"]) == ("words, output", "whole", "kept by name")
    assert (model["macs"], model["params left"]) == (1400, 454 / 600)


def test_text():
    first, *_ = str(REPORT).splitlines()
    assert first.split()[:3] == ["layer", "kind", "shape"]
    assert "words, output" in str(REPORT)


def test_json_and_back():
    assert CompressionReport.from_json(json.loads(json.dumps(REPORT.as_json()))) == REPORT


def test_a_notebook_shows_the_rows():
    shown = REPORT._repr_html_()
    assert shown.count("<tr") == 4
    assert "words, output" in shown
