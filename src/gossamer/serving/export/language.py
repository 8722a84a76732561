"""One step of a language model as a graph: a word and a state in, the next word's log-probabilities and a state out.

A loop over words is the caller's: graphs with loops inside are what runtimes support least. Low-rank layers stay split.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from gossamer.models.lowrank.module import TiedOutput
from gossamer.networks.unrolled import LSTMDirection, UnrolledLSTM
from gossamer.serving.export.graph import Graph, Value
from gossamer.serving.export.layers import run_module
from gossamer.serving.export.tables import GraphTable


def draw_language_step(network: Any, num_words: int) -> Graph:
    """Return the step of an `LSTMLanguageModel` or an `AWDLSTM`, whole or compressed."""
    graph = Graph("log_likelihood: log p of every next word after one more word; begin with states of zeros")
    table = GraphTable(graph, network.embedding)
    vectors = table.look_up(graph.input("words", np.int64, "batch"))
    for number, cell in enumerate(_cells(network.layers)):
        width = cell.recurrent_width
        before = [graph.input(f"{name}_{number}", np.float32, "batch", width) for name in ("hidden", "cell")]
        vectors, memory = _lstm_step(graph, cell, vectors, before[0], before[1])
        for name, value in (("hidden", vectors), ("cell", memory)):
            graph.output(f"{name}_{number}_after", value, np.float32, "batch", width)
    project = getattr(network, "project", None)
    if project is not None and not isinstance(project, nn.Identity):
        vectors = run_module(graph, project, vectors)
    scores = _scores(graph, network, table, vectors)
    if network.output_bias is not None:
        scores = scores + network.output_bias
    graph.output("log_probs", scores.apply("LogSoftmax", axis=1), np.float32, "batch", num_words)
    return graph


def _scores(graph: Graph, network: Any, table: GraphTable, hidden: Value) -> Value:
    output = getattr(network, "output", None)
    if output is None:
        return table.logits(hidden)
    if isinstance(output, TiedOutput):
        scores = GraphTable(graph, output.table).logits(hidden)
        return scores if output.bias is None else scores + output.bias
    return run_module(graph, output, hidden)


class _Cell:
    """The two affine maps of an LSTM layer, as modules."""

    def __init__(self, into: nn.Module, recurrent: nn.Module, width: int) -> None:
        self.into, self.recurrent, self.recurrent_width = into, recurrent, width


def _cells(layers: nn.Module) -> Iterator[_Cell]:
    if isinstance(layers, nn.ModuleList):
        for layer in layers:
            yield from _cells(layer)
        return
    if isinstance(layers, UnrolledLSTM):
        for direction in layers.directions:
            assert isinstance(direction, LSTMDirection)
            yield _Cell(direction.input, direction.recurrent, layers.hidden_size)
        return
    assert isinstance(layers, nn.LSTM)
    for number in range(layers.num_layers):
        parts = [
            _linear(getattr(layers, f"weight_{kind}_l{number}"), getattr(layers, f"bias_{kind}_l{number}"))
            for kind in ("ih", "hh")
        ]
        yield _Cell(parts[0], parts[1], layers.hidden_size)


def _linear(weight: torch.Tensor, bias: torch.Tensor) -> nn.Linear:
    layer = nn.Linear(1, 1, device="meta")
    layer.weight, layer.bias = nn.Parameter(weight), nn.Parameter(bias)
    return layer


def _lstm_step(graph: Graph, cell: _Cell, inputs: Value, hidden: Value, memory: Value) -> tuple[Value, Value]:
    """Return the new hidden state and the new memory; gates are in torch's order: input, forget, candidate, output."""
    gates = run_module(graph, cell.into, inputs) + run_module(graph, cell.recurrent, hidden)
    width = cell.recurrent_width
    opened, forget, candidate, shown = (gates.part(width * part, width * (part + 1)) for part in range(4))
    kept = forget.apply("Sigmoid") * memory
    memory = kept + opened.apply("Sigmoid") * candidate.apply("Tanh")
    return shown.apply("Sigmoid") * memory.apply("Tanh"), memory
