"""AWD-LSTM (Merity, Keskar and Socher 2018): a language model with dropout on weights and on all between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int, check_real
from gossamer.networks.lstm import State, embed_with_word_dropout, make_output_bias, tied_logits


class AWDLSTM(nn.Module):
    """LSTM layers with dropped hidden-to-hidden weights and locked dropout between, tied to the embedding.

    The last layer has the embedding's width, the others `hidden_dim` (ANT, tables 6 and 7). `weight_dropout` drops
    entries of the recurrent matrices, once per forward pass; `input_dropout`, `layer_dropout` and `dropout` (output)
    keep one mask for all time steps. After `hidden` with gradients, `activation_penalty()` is
    `activation` · mean(dropout(h)²) + `temporal` · mean((h_{t+1} − h_t)²), the AR and TAR terms of that pass.
    """

    def __init__(
        self,
        embedding: nn.Module,
        *,
        hidden_dim: int = 1150,
        num_layers: int = 3,
        dropout: float = 0.4,
        layer_dropout: float = 0.25,
        input_dropout: float = 0.4,
        word_dropout: float = 0.1,
        weight_dropout: float = 0.5,
        activation: float = 2.0,
        temporal: float = 1.0,
        output_bias: bool = True,
    ) -> None:
        super().__init__()
        check_int("hidden_dim", hidden_dim, at_least=1)
        check_int("num_layers", num_layers, at_least=1)
        self.dropout = check_real("dropout", dropout, at_least=0, below=1)
        self.layer_dropout = check_real("layer_dropout", layer_dropout, at_least=0, below=1)
        self.input_dropout = check_real("input_dropout", input_dropout, at_least=0, below=1)
        self.word_dropout = check_real("word_dropout", word_dropout, at_least=0, below=1)
        self.weight_dropout = check_real("weight_dropout", weight_dropout, at_least=0, below=1)
        self.activation = check_real("activation", activation, at_least=0)
        self.temporal = check_real("temporal", temporal, at_least=0)
        self.embedding = embedding
        width: int = embedding.embedding_dim  # type: ignore[assignment]
        self.widths = [width, *[hidden_dim] * (num_layers - 1), width]
        self.layers = nn.ModuleList(nn.LSTM(into, out, batch_first=True) for into, out in pairwise(self.widths))
        self.output_bias = make_output_bias(embedding, output_bias)
        self._penalty = torch.zeros(())

    def forward(self, tokens: Int[Tensor, "B T"], state: State | None = None) -> tuple[Float[Tensor, "B T V"], State]:
        """Return the logits of every next token, and the state after the last one."""
        hidden, state = self.hidden(tokens, state)
        return self.logits(hidden), state

    def hidden(self, tokens: Int[Tensor, "B T"], state: State | None = None) -> tuple[Float[Tensor, "B T D"], State]:
        """Return what the output layer sees of every position, and the state after the last one."""
        vectors = embed_with_word_dropout(self.embedding, tokens, self.word_dropout if self.training else 0.0)
        output = locked_dropout(vectors, self.input_dropout, self.training)
        after: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            raw, last = self._run(layer, output, None if state is None else state[2 * number : 2 * number + 2])
            after += last
            is_last = number == len(self.layers) - 1
            output = locked_dropout(raw, self.dropout if is_last else self.layer_dropout, self.training)
        if self.training:
            self._penalty = self.activation * output.square().mean() + self.temporal * raw.diff(dim=1).square().mean()
        return output, tuple(after)

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return the scores of all V tokens by the tied output layer."""
        return tied_logits(self.embedding, hidden, self.output_bias)

    def output_vectors(self, words: Int[Tensor, " W"]) -> Float[Tensor, "W D"]:
        """Return what the output layer multiplies hidden states with for these words: their embedding."""
        vectors: Tensor = self.embedding(words)
        return vectors

    def activation_penalty(self) -> Float[Tensor, ""]:
        """Return the AR and TAR terms of the last pass in training, to be added to its loss."""
        return self._penalty

    def train(self, mode: bool = True) -> Self:
        """Switch dropout on or off; without it the last pass keeps no graph, which torch would refuse to copy."""
        if not mode:
            self._penalty = self._penalty.detach()
        return super().train(mode)

    def _run(self, layer: nn.Module, vectors: Tensor, state: State | None) -> tuple[Tensor, State]:
        """Return a layer's outputs and its last state, with some of its recurrent weights dropped in training."""
        if not self.training or self.weight_dropout == 0:
            outputs, last = layer(vectors, state)
            return outputs, last
        dropped = {
            name: functional.dropout(weight, self.weight_dropout) if name.startswith("weight_hh") else weight
            for name, weight in layer.named_parameters()
        }
        outputs, last = torch.func.functional_call(layer, dropped, (vectors, state))
        return outputs, last

    def new_state(self, batch_size: int) -> State:
        """Return the state before the first token: (h, c) of each layer in turn."""
        return tuple(torch.zeros(1, batch_size, width) for width in self.widths[1:] for _ in "hc")


def locked_dropout(vectors: Float[Tensor, "B T D"], rate: float, training: bool = True) -> Float[Tensor, "B T D"]:
    """Drop the same entries at every time step of a sequence, scaling the others by 1/(1 − rate)."""
    if not training or rate == 0:
        return vectors
    mask = functional.dropout(vectors.new_ones(len(vectors), 1, vectors.shape[2]), rate)
    return vectors * mask
