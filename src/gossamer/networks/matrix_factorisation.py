"""Matrix factorisation of ratings over any two tables of vectors."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from gossamer.core.checks import check_bool, check_real


class MatrixFactorisation(nn.Module):
    """Rates a pair by ŷ = μ + b_u + b_i + p_u · q_i, without the first three unless `mean` and `biases` say so.

    `users` and `items` are modules that turn ids into vectors of one width, such as `nn.Embedding`.

    >>> users, items = nn.Embedding.from_pretrained(torch.eye(2)), nn.Embedding.from_pretrained(torch.eye(2))
    >>> MatrixFactorisation(users, items, mean=3.0)(torch.tensor([0, 0]), torch.tensor([0, 1])).tolist()
    [4.0, 3.0]
    """

    mean: Tensor

    def __init__(self, users: nn.Module, items: nn.Module, *, mean: float = 0.0, biases: bool = False) -> None:
        super().__init__()
        if users.embedding_dim != items.embedding_dim:
            raise ValueError(
                f"items must have the width of users, {users.embedding_dim}, got width {items.embedding_dim}"
            )
        self.users = users
        self.items = items
        self.register_buffer("mean", torch.tensor(check_real("mean", mean)))
        self.user_biases: nn.Parameter | None = None
        self.item_biases: nn.Parameter | None = None
        if check_bool("biases", biases):
            self.user_biases = nn.Parameter(torch.zeros(_num_embeddings(users)))
            self.item_biases = nn.Parameter(torch.zeros(_num_embeddings(items)))

    def forward(self, user_ids: Int[Tensor, " B"], item_ids: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """Return one rating per pair."""
        return self.rate(user_ids, item_ids, self.users(user_ids), self.items(item_ids))

    def rate(
        self,
        user_ids: Int[Tensor, " B"],
        item_ids: Int[Tensor, " B"],
        user_vectors: Float[Tensor, "B D"],
        item_vectors: Float[Tensor, "B D"],
    ) -> Float[Tensor, " B"]:
        """Return one rating per pair whose vectors have been looked up already, as a loss on vectors does."""
        ratings: Tensor = self.mean + (user_vectors * item_vectors).sum(dim=-1)
        if self.user_biases is not None and self.item_biases is not None:
            ratings = ratings + self.user_biases[user_ids] + self.item_biases[item_ids]
        return ratings


def _num_embeddings(table: nn.Module) -> int:
    number: int = table.num_embeddings  # type: ignore[assignment]
    return number
