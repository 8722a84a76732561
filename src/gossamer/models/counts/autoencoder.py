"""The network of CDAE: one hidden layer between a corrupted history and all items, and a vector for every user."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.module import drop_inputs
from gossamer.models.counts.sparse_layer import SparseInputLayer

HIDDEN_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "identity": lambda hidden: hidden,
}


class DenoisingAutoencoder(nn.Module):
    """logits = W'·h(Wᵀ·x̃ + v + b) + b' (eqs. 8 and 9 of Wu et al.); x̃ is x with inputs dropped, v the user's vector.

    `stranger` is the v of users who have none of their own.
    """

    stranger: Tensor

    def __init__(
        self, num_items: int, hidden_dim: int, *, activation: str = "sigmoid", corruption: float = 0.5
    ) -> None:
        super().__init__()
        check_int("hidden_dim", hidden_dim, at_least=1)
        self.activation = HIDDEN_ACTIVATIONS[check_choice("activation", activation, HIDDEN_ACTIVATIONS)]
        self.corruption = check_real("corruption", corruption, at_least=0, below=1)
        self.input_layer = SparseInputLayer(num_items, hidden_dim)
        self.output_layer = nn.Linear(hidden_dim, num_items)
        self.register_buffer("stranger", torch.zeros(hidden_dim))
        for layer in (self.input_layer, self.output_layer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(
        self,
        batch: CountBatch,
        vectors: Float[Tensor, "B D"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, "B M"]:
        """Return the logits of all items; inputs are dropped, and the rest scaled up, in training mode only."""
        inputs = drop_inputs(batch.inputs, self.corruption, generator) if self.training else batch.inputs
        hidden = self.input_layer(batch, inputs) + (self.stranger if vectors is None else vectors)
        logits: Tensor = self.output_layer(self.activation(hidden))
        return logits


def logistic_loss(logits: Float[Tensor, "B M"], batch: CountBatch, num_negatives: float) -> Float[Tensor, " B"]:
    """Return each user's logistic loss over the items taken, and over the others as if negatives were drawn from them.

    Σ_{taken} log(1 + e^−s) + w·Σ_{others} log(1 + e^s) with w = min(1, num_negatives·n / (M − n)) for n items taken:
    what drawing `num_negatives` of the others per item taken gives on average, without its noise.
    """
    rows, taken = batch.row_of_nonzero, logits[batch.row_of_nonzero, batch.terms]
    per_user = logits.new_zeros(len(batch))
    count = per_user.index_add(0, rows, torch.ones_like(taken))
    weight = (num_negatives * count / (batch.num_terms - count).clamp(min=1)).clamp(max=1)
    as_negatives = functional.softplus(logits).sum(dim=1) - per_user.index_add(0, rows, functional.softplus(taken))
    return per_user.index_add(0, rows, functional.softplus(-taken)) + weight * as_negatives


class CDAEObjective(nn.Module):
    """What CDAE minimises per user: the logistic loss, and λ/2 times the squares of what was learned.

    With N users that is (Σ_u loss_u + λ/2 (Σ_u ‖v_u‖² + ‖W‖² + ‖W'‖²)) / N; biases are not penalised. A batch has only
    its own users' vectors in it, so that their gradients have as many rows as the batch. `with_vectors` False leaves
    the vectors out.
    """

    def __init__(
        self, network: DenoisingAutoencoder, num_users: int, *, with_vectors: bool, num_negatives: float, l2: float
    ) -> None:
        super().__init__()
        self.network = network
        self.num_users = check_int("num_users", num_users, at_least=1)
        self.num_negatives = check_real("num_negatives", num_negatives, above=0)
        self.l2 = check_real("l2", l2, at_least=0)
        self.vectors: nn.Embedding | None = None
        if with_vectors:
            hidden_dim = len(network.stranger)
            self.vectors = nn.Embedding(num_users, hidden_dim, sparse=True)
            nn.init.zeros_(self.vectors.weight)  # a user who has not been seen is a stranger

    def forward(self, batch: CountBatch, generator: torch.Generator | None = None) -> Float[Tensor, ""]:
        """Return the mean over the batch's users."""
        vectors = None if self.vectors is None else self.vectors(batch.rows)
        loss = logistic_loss(self.network(batch, vectors, generator), batch, self.num_negatives).mean()
        squares = (
            self.network.input_layer.weight.square().sum() + self.network.output_layer.weight.square().sum()
        ) / self.num_users
        if vectors is not None:
            squares = squares + vectors.square().sum(dim=1).mean()
        return loss + self.l2 / 2 * squares

    @torch.no_grad()
    def meet_stranger(self) -> None:
        """Let the stranger be the mean of all users' vectors."""
        if self.vectors is not None:
            self.network.stranger.copy_(self.vectors.weight.mean(dim=0))
