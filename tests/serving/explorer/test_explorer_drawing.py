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


def test_models_without_a_graph_say_why(known):
    with pytest.raises(NotFound, match="This model has no graph: "):
        draw(known["index"].estimator)


@pytest.mark.parametrize("most", [1, 3, 5])
def test_a_long_graph_is_drawn_in_parts(known, monkeypatch, most):
    estimator = known["network"].estimator
    whole = draw(estimator)
    monkeypatch.setattr(drawing, "MOST_BOXES", most)
    arrows = set()
    for part in range(draw(estimator).num_parts):
        found = draw(estimator, part)
        own = [box for box in found.boxes if box.role != "earlier"]
        earlier = {box.number for box in found.boxes if box.role == "earlier"}
        assert [box.kind for box in own] == [box.kind for box in whole.boxes[found.first : found.first + most]]
        assert found.total == whole.total == len(whole.boxes)
        assert earlier == {arrow.source for arrow in found.arrows} & earlier  # none that passes nothing on
        assert not earlier & {arrow.target for arrow in found.arrows}
        arrows |= {(arrow.name, arrow.target - len(earlier) + found.first) for arrow in found.arrows}
    assert arrows == {(arrow.name, arrow.target) for arrow in whole.arrows}


def test_a_part_that_is_not_there_is_said(known):
    with pytest.raises(NotFound, match="There is no part 1 of this graph; it has 1, from 0 on"):
        draw(known["network"].estimator, 1)


def test_arrows_have_the_shapes_of_what_they_pass_on(known):
    pytest.importorskip("onnx", reason="needs the extra export")
    arrows = draw(known["network"].estimator).arrows
    assert arrows[0].shape.endswith(" × 24")
    assert all(arrow.shape for arrow in arrows)


def test_without_onnx_a_drawing_has_no_shapes(known, monkeypatch):
    monkeypatch.setattr(drawing, "infer_shapes", lambda _: {})
    assert {arrow.shape for arrow in draw(known["network"].estimator).arrows} == {""}
