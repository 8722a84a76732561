"""The two networks of nonlinear factor analysis: documents → q(z; ψ(x)), and z → logits of all terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.sparse_layer import SparseInputLayer

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "softplus": functional.softplus,
}


class Encoder(nn.Module):
    """The inference network: two hidden layers by default, then means and log variances (section 4 of the paper).

    `dropout` drops nonzeros of the input and scales up the rest, in training mode. Documents without a word have the
    prior as their posterior: there is nothing to infer from. Parameters begin uniform in ±`init_range` (None: Glorot's
    uniform weights, zero biases). `sparse_gradient` is for large vocabularies (`sparse_layer.py`, `row_adam.py`).
    """

    def __init__(
        self,
        num_terms: int,
        latent_dim: int,
        hidden_dims: Sequence[int] = (400, 400),
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        init_range: float | None = 0.1,
        sparse_gradient: bool = False,
    ) -> None:
        super().__init__()
        widths = [*_check_widths(hidden_dims), 2 * check_int("latent_dim", latent_dim, at_least=1)]
        self.activation = ACTIVATIONS[check_choice("activation", activation, ACTIVATIONS)]
        self.dropout = check_real("dropout", dropout, at_least=0, below=1)
        self.input_layer = SparseInputLayer(num_terms, widths[0], sparse_gradient=sparse_gradient)
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        initialise(self, init_range)

    def forward(self, batch: CountBatch, generator: torch.Generator | None = None) -> Posterior:
        """Return q(z) of each document; `generator` draws the dropout (None: torch's global one)."""
        hidden = self.input_layer(batch, self._visible(batch.inputs, generator))
        for layer in self.layers:
            hidden = layer(self.activation(hidden))
        hidden = hidden * (batch.lengths > 0).unsqueeze(1)
        mean, log_variance = hidden.chunk(2, dim=1)
        return Posterior(mean, log_variance)

    def _visible(self, inputs: Float[Tensor, " N"], generator: torch.Generator | None) -> Float[Tensor, " N"]:
        return drop_inputs(inputs, self.dropout, generator) if self.training else inputs


class Decoder(nn.Module):
    """The generative network γ(z) = W·h(z) + b of eq. (1): a multinomial logistic PCA without hidden layers."""

    def __init__(
        self,
        num_terms: int,
        latent_dim: int,
        hidden_dims: Sequence[int] = (),
        *,
        activation: str = "relu",
        init_range: float | None = 0.1,
    ) -> None:
        super().__init__()
        check_int("num_terms", num_terms, at_least=1)
        widths = [check_int("latent_dim", latent_dim, at_least=1), *_check_widths(hidden_dims)]
        self.activation = ACTIVATIONS[check_choice("activation", activation, ACTIVATIONS)]
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        self.weight = nn.Parameter(torch.empty(num_terms, widths[-1]))
        self.bias = nn.Parameter(torch.empty(num_terms))
        initialise(self, init_range)

    @property
    def latent_dim(self) -> int:
        """Return K, the number of latent variables."""
        return int(self.layers[0].in_features if len(self.layers) else self.weight.shape[1])  # type: ignore[arg-type]

    def hidden(self, z: Float[Tensor, "B K"]) -> Float[Tensor, "B H"]:
        """Return what the last layer sees: z itself in a linear decoder."""
        for layer in self.layers:
            z = self.activation(layer(z))
        return z

    def logits(self, z: Float[Tensor, "B K"]) -> Float[Tensor, "B V"]:
        """Return the unnormalised log-probabilities of all terms."""
        return functional.linear(self.hidden(z), self.weight, self.bias)


def drop_inputs(inputs: Float[Tensor, " N"], fraction: float, generator: torch.Generator | None) -> Float[Tensor, " N"]:
    """Return the inputs with each one zero with probability `fraction`, and the others scaled up to keep the mean."""
    if fraction == 0:
        return inputs
    drawn = torch.rand(inputs.shape, generator=generator, device=inputs.device)
    return inputs * (drawn >= fraction) / (1 - fraction)


def initialise(module: nn.Module, init_range: float | None) -> None:
    """Draw all parameters uniformly from ±init_range, or, without a range, weights by Glorot's rule and biases 0."""
    if init_range is not None:
        check_real("init_range", init_range, above=0)
    for parameter in module.parameters():
        if init_range is not None:
            nn.init.uniform_(parameter, -init_range, init_range)
        elif parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)


def _check_widths(hidden_dims: Sequence[int]) -> list[int]:
    return [check_int("hidden_dims", width, at_least=1) for width in hidden_dims]
