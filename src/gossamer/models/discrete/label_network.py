"""Many small networks side by side: one per fold of a cross-validation, trained together as one batched product.

One batched product is the fastest, but no member has a matrix of its own that could be split. `take_apart_` gives
each an ordinary layer; `put_together_` undoes that for layers in which all members stayed whole.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class MemberLinear(nn.Module):
    """A linear layer per member: (M, B, in) → (M, B, out)."""

    def __init__(self, num_members: int, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.num_members, self.in_dim, self.out_dim = num_members, in_dim, out_dim
        bound = 1 / math.sqrt(in_dim)
        self.weight = nn.Parameter(torch.empty(num_members, in_dim, out_dim).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(num_members, 1, out_dim))

    def forward(self, inputs: Float[Tensor, "M B inputs"]) -> Float[Tensor, "M B outputs"]:
        """Return each member's own affine map of its own inputs."""
        return torch.baddbmm(self.bias, inputs, self.weight)


class SeparateLinear(nn.Module):
    """The same map with an ordinary layer for each member."""

    def __init__(self, num_members: int, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.num_members, self.in_dim, self.out_dim = num_members, in_dim, out_dim
        self.members = nn.ModuleList(nn.Linear(in_dim, out_dim) for _ in range(num_members))

    def forward(self, inputs: Float[Tensor, "M B inputs"]) -> Float[Tensor, "M B outputs"]:
        """Return each member's own affine map of its own inputs."""
        return torch.stack([layer(rows) for layer, rows in zip(self.members, inputs, strict=True)])


class MemberMLP(nn.Module):
    """A multi-layer perceptron per member, ReLU and dropout after each hidden layer; none: a linear model."""

    def __init__(
        self, num_members: int, in_dim: int, hidden_dims: Sequence[int], out_dim: int, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        widths = [in_dim, *hidden_dims, out_dim]
        self.layers = nn.ModuleList(MemberLinear(num_members, before, after) for before, after in pairwise(widths))
        self.dropout = dropout

    def forward(self, inputs: Float[Tensor, "M B inputs"]) -> Float[Tensor, "M B outputs"]:
        """Return the last layer's outputs; dropout draws from torch's global generator, which the step seeds."""
        *hidden, last = self.layers
        for layer in hidden:
            inputs = functional.dropout(torch.relu(layer(inputs)), self.dropout, self.training)
        outputs: Tensor = last(inputs)
        return outputs


class LabelNetwork(nn.Module):
    """The encoder x → logits of K labels, U latent features and the gate; and, with `decode`, the decoder z → x.

    Gate and features share all layers but the last one ("can share some complicated low layers", section IV-A).
    """

    def __init__(
        self,
        num_members: int,
        input_dim: int,
        num_labels: int,
        *,
        hidden_dims: Sequence[int],
        num_latent: int = 0,
        decode: bool = False,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_members, self.input_dropout = num_members, input_dropout
        num_features = num_labels + num_latent
        self.encoder = MemberMLP(num_members, input_dim, hidden_dims, num_features + 1, dropout=dropout)
        backwards = tuple(reversed(tuple(hidden_dims)))
        self.decoder = MemberMLP(num_members, num_features, backwards, input_dim, dropout=0.0) if decode else None

    def forward(self, inputs: Float[Tensor, "B D"]) -> Float[Tensor, "M B W"]:
        """Return every member's logits of the same observations."""
        each = inputs.expand(self.num_members, *inputs.shape)
        encoded: Tensor = self.encoder(functional.dropout(each, self.input_dropout, self.training))
        return encoded


@torch.no_grad()
def take_apart_(network: LabelNetwork, names: Collection[str] | None = None) -> None:
    """Give every member ordinary layers of its own in the layers of these names, or in all.

    >>> network = LabelNetwork(2, 4, 3, hidden_dims=(5,))
    >>> take_apart_(network, ["encoder.layers.1"])
    >>> [type(layer).__name__ for layer in network.encoder.layers]
    ['MemberLinear', 'SeparateLinear']
    """
    for name, layer in _layers_of(network, MemberLinear):
        if names is not None and name not in names:
            continue
        separate = _empty_like(SeparateLinear, layer)
        for number, member in enumerate(separate.members):
            member.weight = nn.Parameter(layer.weight[number].mT.contiguous())
            member.bias = nn.Parameter(layer.bias[number, 0].clone())
        network.set_submodule(name, separate)


@torch.no_grad()
def put_together_(network: LabelNetwork) -> None:
    """Make one batched product again of layers in which every member's is whole."""
    for name, layer in _layers_of(network, SeparateLinear):
        if not all(isinstance(member, nn.Linear) for member in layer.members):
            continue
        together = _empty_like(MemberLinear, layer)
        together.weight = nn.Parameter(torch.stack([member.weight.mT for member in layer.members]))
        together.bias = nn.Parameter(torch.stack([member.bias for member in layer.members]).unsqueeze(1))
        network.set_submodule(name, together)


def _layers_of(network: nn.Module, kind: type[nn.Module]) -> list[tuple[str, Any]]:
    return [(name, module) for name, module in network.named_modules() if isinstance(module, kind)]


def _empty_like(kind: Any, layer: Any) -> Any:
    """Make a layer without drawing numbers: its weights are given next, and nobody's generator moves."""
    with torch.device("meta"):
        return kind(layer.num_members, layer.in_dim, layer.out_dim).train(layer.training)
