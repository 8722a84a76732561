"""Encoders that say how often each class appears: log rates of K classes, and last the logit of the gate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

NUM_STRIDED = 2  # the first layers halve height and width
FIRST_KERNEL, KERNEL = 5, 3
NUM_GROUPS = 8
TINY = 1e-6


class DenseEncoder(nn.Module):
    """A multi-layer perceptron on flat rows."""

    def __init__(self, input_dim: int, hidden_dims: Sequence[int], num_classes: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        widths = [input_dim, *hidden_dims, num_classes + 1]
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        self.dropout = dropout

    def forward(self, inputs: Float[Tensor, "B D"]) -> Float[Tensor, "B K1"]:
        """Return logits of the classes and of the gate."""
        *hidden, last = self.layers
        for layer in hidden:
            inputs = functional.dropout(torch.relu(layer(inputs)), self.dropout, self.training)
        outputs: Tensor = last(inputs)
        return outputs


class ConvEncoder(nn.Module):
    """Convolutions that find evidence of each class, and of nothing, at every place; evidence adds up over places.

    With S_k the sum over the image of softplus(map_k) and S_∅ that of the last map, a draw falls on class k with
    probability λπ_k = S_k / (Σ_j S_j + S_∅). It knows nothing of where things may stand, so that any layout will do.
    """

    def __init__(
        self, image_shape: Sequence[int], channels: Sequence[int], num_classes: int, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.image_shape = tuple(image_shape)
        widths = [1, *channels]
        self.layers = nn.ModuleList(
            nn.Conv2d(before, after, size, stride=2 if place < NUM_STRIDED else 1, padding=size // 2)
            for place, (before, after) in enumerate(pairwise(widths))
            for size in [FIRST_KERNEL if place == 0 else KERNEL]
        )
        # Groups, not batches: what one image counts must not depend on the others it comes with.
        self.norms = nn.ModuleList(nn.GroupNorm(math.gcd(NUM_GROUPS, width), width) for width in widths[1:])
        self.maps = nn.Conv2d(widths[-1], num_classes + 1, 1)
        # Little evidence everywhere to begin with: an image has many places and few things.
        nn.init.constant_(self.maps.bias, -4.0)  # type: ignore[arg-type]
        self.dropout = dropout

    def evidence(self, inputs: Float[Tensor, "B D"]) -> Float[Tensor, "B K1 h w"]:
        """Return the maps of evidence, of all classes and of nothing."""
        hidden = inputs.view(len(inputs), 1, *self.image_shape)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            hidden = torch.relu(norm(layer(hidden)))
        hidden = functional.dropout2d(hidden, self.dropout, self.training)
        return functional.softplus(self.maps(hidden))

    def forward(self, inputs: Float[Tensor, "B D"]) -> Float[Tensor, "B K1"]:
        """Return log S_k, whose softmax is π, and log Σ S_k − log S_∅, the logit of λ."""
        total = self.evidence(inputs).sum(dim=(2, 3)) + TINY
        classes, nothing = total[:, :-1], total[:, -1:]
        return torch.cat([classes.log(), classes.sum(dim=1, keepdim=True).log() - nothing.log()], dim=1)


def image_side(shape: Sequence[int]) -> tuple[int, int]:
    """Return height and width of grey images, or say why they are none.

    >>> image_side((28, 140))
    (28, 140)
    """
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"data must be images of shape (N, height, width) for encoder='conv', got (N, {shape})")
    return int(shape[0]), int(shape[1])


def count_nll(encoded: Float[Tensor, "B K1"], counts: Float[Tensor, "B K"], max_active: int) -> Float[Tensor, " B"]:
    """Return −log P(z = counts) of z = Σ_l ω_l z_l over L₀ draws: multinomial over classes and closed gates.

    P = L₀! / (Π_k c_k! (L₀ − n)!) · Π_k (λπ_k)^{c_k} · (1 − λ)^{L₀ − n}, n = Σ c.
    """
    log_rates = encoded[:, :-1].log_softmax(dim=1) + functional.logsigmoid(encoded[:, -1:])
    num_closed = max_active - counts.sum(dim=1)
    orders = math.lgamma(max_active + 1) - torch.lgamma(counts + 1).sum(dim=1) - torch.lgamma(num_closed + 1)
    log_prob = orders + (counts * log_rates).sum(dim=1) + num_closed * functional.logsigmoid(-encoded[:, -1])
    return -log_prob


def mean_counts(encoded: Float[Tensor, "B K1"], max_active: int) -> Float[Tensor, "B K"]:
    """Return E[z] = L₀·λ·π, the prediction with the least squared error.

    >>> mean_counts(torch.tensor([[0.0, 0.0, 0.0]]), max_active=4).tolist()
    [[1.0, 1.0]]
    """
    return max_active * encoded[:, -1:].sigmoid() * encoded[:, :-1].softmax(dim=1)
