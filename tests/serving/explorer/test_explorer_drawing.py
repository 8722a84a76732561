"""Drawings: every operator of the exported graph once, its arrows, and the weights by their names."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer import drawing
from gossamer.serving.explorer.drawing import draw
from gossamer.serving.explorer.tensors import find_array
from gossamer.serving.export.onnx_file import draw_graph


@pytest.mark.parametrize("name", ["network", "topics", "codes", "anchors", "communities", "ease"])
def test_a_drawing_has_every_operator_and_arrow(known, name):
    estimator = known[name].estimator
    found, graph = draw(estimator), draw_graph(estimator)
    json.dumps(asdict(found), allow_nan=False)
    assert len(found.boxes) == len(graph.inputs) + len(graph.nodes)
    assert [box.kind for box in found.boxes if box.role == "output"] == [port.name for port in graph.outputs]
    operands = [(name, node) for node in graph.nodes for name in dict.fromkeys(node.inputs) if name]
    assert len(found.arrows) == sum(operand not in graph.constants for operand, _ in operands)
    joined = {arrow.target for arrow in found.arrows} | {arrow.source for arrow in found.arrows}
    assert all(box.number in joined or box.constants for box in found.boxes)


def test_weights_are_named_and_can_be_opened(known):
    estimator = known["network"].estimator
    named = [one for box in draw(estimator).boxes for one in box.constants if one.layer]
    assert {"0.weight", "1.weight", "bias"} <= {one.weight for one in named}
    for one in named:
        shape = list(find_array(estimator, one.layer, one.weight).shape)
        assert one.shape == (shape[::-1] if one.is_turned else shape)


def test_models_without_a_graph_say_why(known, monkeypatch):
    with pytest.raises(NotFound, match="This model has no graph: "):
        draw(known["index"].estimator)
    monkeypatch.setattr(drawing, "MOST_BOXES", 3)
    with pytest.raises(NotFound, match=r"has \d+ operators, of which nobody would read so many"):
        draw(known["network"].estimator)
