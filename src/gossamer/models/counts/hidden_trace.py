"""The hidden layers of a decoder at some z, or on average around it, and their Jacobian as a map in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from jaxtyping import Float, Int
from torch import Tensor, nn

from gossamer.models.counts.module import Decoder
from gossamer.models.counts.smoothing import slope_of, smooth


@dataclass(frozen=True, eq=False)
class HiddenTrace:
    """h of B documents with J = ∂h/∂z = D_L A_L … D_1 A_1: weights A of the layers, slopes D of the activations.

    Vectors may have dimensions before B: several per document are moved by one product of matrices. `bends` are second
    derivatives of the activations, known where these were smoothed.
    """

    hidden: Float[Tensor, "B H"]
    weights: tuple[Float[Tensor, "after before"], ...]
    slopes: tuple[Float[Tensor, "B after"], ...]
    bends: tuple[Float[Tensor, "B after"], ...] = ()

    def pull_back(self, for_hidden: Float[Tensor, "*more B H"]) -> Float[Tensor, "*more B K"]:
        """Return Jᵀg, the gradient in z of what has the gradient g in h."""
        for weight, slope in zip(reversed(self.weights), reversed(self.slopes), strict=True):
            for_hidden = (for_hidden * slope) @ weight
        return for_hidden

    def push_forward(self, direction: Float[Tensor, "*more B K"]) -> Float[Tensor, "*more B H"]:
        """Return J d, how fast h changes where z moves along d."""
        for weight, slope in zip(self.weights, self.slopes, strict=True):
            direction = (direction @ weight.T) * slope
        return direction

    def bend_along(
        self, for_hidden: Float[Tensor, "B H"], sensitivities: Sequence[Float[Tensor, "K after"]]
    ) -> Float[Tensor, "B K"]:
        """Return Σ_layers Σ_i g_i f''_i (∂a_i/∂z_k)²: how activations bend, along each z_k, what has gradient g in h.

        `sensitivities` are the squares of ∂a/∂z for what enters each layer's activations.
        """
        total = for_hidden.new_zeros(len(for_hidden), len(sensitivities[0]))
        layers = zip(self.weights, self.slopes, self.bends, sensitivities, strict=True)
        for weight, slope, bend, sensitivity in reversed(list(layers)):
            total += (for_hidden * bend) @ sensitivity.T
            for_hidden = (for_hidden * slope) @ weight
        return total

    def take(self, rows: Tensor) -> HiddenTrace:
        """Return some of the documents only, by a mask or by their numbers."""
        slopes, bends = (tuple(part[rows] for part in parts) for parts in (self.slopes, self.bends))
        return HiddenTrace(self.hidden[rows], self.weights, slopes, bends)

    def put(self, rows: Int[Tensor, " some"], other: HiddenTrace) -> None:
        """Replace some of the documents."""
        mine = (self.hidden, *self.slopes, *self.bends)
        for part, theirs in zip(mine, (other.hidden, *other.slopes, *other.bends), strict=True):
            part[rows] = theirs


def trace_hidden(
    decoder: Decoder, z: Float[Tensor, "B K"], spreads: Sequence[Float[Tensor, "B after"]] | None = None
) -> HiddenTrace:
    """Compute the hidden layers at z, with the slopes of all activations; z itself in a linear decoder.

    With `spreads`, the variances of what enters the activations of each layer, they are averaged over these.
    """
    slopes, bends = [], []
    layers = [cast("nn.Linear", layer) for layer in decoder.layers]
    for number, layer in enumerate(layers):
        entering = layer(z).detach()
        if spreads is None:
            z, slope = slope_of(decoder.activation, entering)
        else:
            z, slope, bend = smooth(decoder.activation, entering, spreads[number])
            bends.append(bend)
        slopes.append(slope)
    return HiddenTrace(z, tuple(layer.weight.detach() for layer in layers), tuple(slopes), tuple(bends))
