"""Many small networks side by side: one per fold of a cross-validation, trained together as one batched product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class MemberLinear(nn.Module):
    """A linear layer per member: (M, B, in) → (M, B, out)."""

    def __init__(self, num_members: int, in_dim: int, out_dim: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(in_dim)
        self.weight = nn.Parameter(torch.empty(num_members, in_dim, out_dim).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(num_members, 1, out_dim))

    def forward(self, inputs: Float[Tensor, "M B inputs"]) -> Float[Tensor, "M B outputs"]:
        """Return each member's own affine map of its own inputs."""
        return torch.baddbmm(self.bias, inputs, self.weight)


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
