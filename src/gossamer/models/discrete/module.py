"""The networks of a discrete VAE: observations → distribution of codes → observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.discrete.latent import Latent
from gossamer.models.discrete.observations import Observation
from gossamer.models.discrete.temperatures import Temperatures

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "silu": nn.SiLU}


def layers(widths: Sequence[int], activation: str) -> nn.Sequential:
    """Return linear layers of these widths with the activation between them, weights as He et al. (2015) begin.

    torch's own first weights let the signal of four layers fade, and with it what codes could tell at the start.

    >>> [type(layer).__name__ for layer in layers([3, 2, 1], "relu")]
    ['Linear', 'ReLU', 'Linear']
    """
    found: list[nn.Module] = []
    for before, after in pairwise(widths):
        linear = nn.Linear(before, after)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        nn.init.zeros_(linear.bias)
        found += [linear, ACTIVATIONS[activation]()]
    nn.init.xavier_normal_(linear.weight)  # outputs are logits: no activation follows
    return nn.Sequential(*found[:-1])


class DiscreteNetwork(nn.Module):
    """Encoder f (and gate network h, where the codes have gates), codes, decoder g, and the observations' likelihood.

    Without `gate_dims` the gate's logit is one more output of the encoder.
    """

    def __init__(
        self,
        observation: Observation,
        latent: Latent,
        temperatures: Temperatures,
        *,
        encoder_dims: Sequence[int],
        decoder_dims: Sequence[int],
        gate_dims: Sequence[int] = (),
        activation: str = "relu",
    ) -> None:
        super().__init__()
        self.observation, self.latent, self.temperatures = observation, latent, temperatures
        first = observation.first_outputs()
        num_columns = len(first)
        own = latent.num_gate_logits if len(gate_dims) else 0
        self.encoder = layers([num_columns, *encoder_dims, latent.width - own], activation)
        self.gates = layers([num_columns, *gate_dims, own], activation) if own else None
        self.decoder = layers([latent.num_features, *decoder_dims, num_columns], activation)
        last = self.decoder[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.bias.copy_(first)

    def encode(self, x: Float[Tensor, "B D"]) -> Float[Tensor, "B W"]:
        """Return what `latent` reads q(z | x) from: λ_i and π_i of equations (7) and (9), as logits."""
        inputs = self.observation.inputs(x)
        encoded: Tensor = self.encoder(inputs)
        return encoded if self.gates is None else torch.cat([encoded, self.gates(inputs)], dim=1)

    def log_likelihood(self, codes: Float[Tensor, "*S B K"], x: Float[Tensor, "B D"]) -> Float[Tensor, "*S B"]:
        """Return log p(x | z), equation (11) without its mean over draws."""
        return self.observation.log_likelihood(self.decoder(codes), x)

    def forward(self, x: Float[Tensor, "B D"]) -> Float[Tensor, "B W"]:
        """Return `encode(x)`; several processes need a forward."""
        return self.encode(x)
