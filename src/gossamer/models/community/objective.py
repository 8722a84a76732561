"""The loss: targets told apart from all items (softmax) or from ten negatives each (3.14); communities that form."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.community.batch import CommunityBatch
from gossamer.models.community.communities import effective_number, formation_penalty, grouping_penalty
from gossamer.models.community.network import CommunityNetwork

LOSSES = ("softmax", "logistic")


def candidate_softmax(
    targets: Float[Tensor, " T"],
    target_rows: Tensor,
    candidates: Float[Tensor, "B S"],
    masked_rows: Tensor,
    masked_places: Tensor,
    log_share: float,
) -> Float[Tensor, ""]:
    """Return the mean over targets of −log (e^s / (Σ own targets e^s + share · Σ candidates e^s)).

    Candidates are a uniform sample of all items, of which they stand for `exp(log_share)` times as many; what the user
    has is masked. With all items as candidates this is the softmax over the catalogue, without what is known.
    """
    others = candidates.index_put((masked_rows, masked_places), candidates.new_tensor(-torch.inf)) + log_share
    highest = others.detach().amax(dim=1)
    highest = highest.scatter_reduce(0, target_rows, targets.detach(), "amax", include_self=True)
    sums = torch.exp(others - highest[:, None]).sum(dim=1)
    sums = sums.index_add(0, target_rows, torch.exp(targets - highest[target_rows]))
    return (highest[target_rows] + torch.log(sums[target_rows]) - targets).mean()


def pair_logistic(targets: Float[Tensor, " T"], negatives: Float[Tensor, "T n"], is_there: Tensor) -> Float[Tensor, ""]:
    """Return the mean over targets of −log P(y = 1) − Σ_negatives log P(y = 0) (3.14)."""
    against = (functional.softplus(negatives) * is_there).sum(dim=1)
    return (functional.softplus(-targets) + against).mean()


class Training(nn.Module):
    """The network as the loop calls it: a batch in, named means out.

    An item is hidden behind its features with probability `id_dropout`, and half of the hidden ones lose their
    neighbours, too, so that new items, with neighbours or without, are nothing new. With `groups`, communities form
    where the users of a group are; without, wherever users tell them apart.
    """

    def __init__(
        self,
        network: CommunityNetwork,
        loss: str,
        formation: float,
        id_dropout: float = 0.0,
        groups: Float[Tensor, "N K"] | None = None,
    ) -> None:
        super().__init__()
        self.network, self.loss, self.formation, self.id_dropout = network, loss, formation, id_dropout
        self.groups = groups  # no buffer: a function of graph and seed, which a checkpoint need not repeat

    def _named(self, ids: Tensor) -> Tensor:
        if not self.training or self.id_dropout == 0:
            return ids
        return torch.where(torch.rand(ids.shape) < self.id_dropout, -1, ids)

    def forward(self, batch: CommunityBatch) -> dict[str, Tensor]:
        """Return the loss and, where there are communities, how many a user belongs to and how many there are."""
        network = self.network
        neighbours = network.neighbour_encoder(batch.history_codes, self._named(batch.history_ids))
        full = network.full_users(batch.user_codes, neighbours, batch.history)
        parts = network.user_parts(full)
        vectors = network.user_vectors(parts)
        ids = self._named(batch.item_ids)
        is_alone = (ids < 0) & (torch.rand(ids.shape) < 0.5) if self.training and self.id_dropout else None
        items, bias = network.item_vectors(
            network.target_encoder(batch.item_codes, ids),
            ids,
            batch.audience,
            network.user_encoder(batch.audience_codes),
            batch.alike,
            network.neighbour_encoder(batch.alike_codes, batch.alike_ids),
            is_alone,
        )
        targets = network.score_pairs(vectors, items, bias, batch.target_rows, batch.target_columns)
        if self.loss == "softmax":
            assert batch.candidates is not None
            assert batch.masked_rows is not None
            assert batch.masked_places is not None
            others = network.score_all(vectors, items[batch.candidates], bias[batch.candidates])
            fit = candidate_softmax(
                targets, batch.target_rows, others, batch.masked_rows, batch.masked_places, batch.log_share
            )
        else:
            assert batch.negative_columns is not None
            fit = pair_logistic(targets, *self._negative_scores(batch, vectors, items, bias))
        if "memberships" not in parts:
            return {"loss": fit}
        weights = parts["memberships"]
        if self.groups is None:
            unformed = formation_penalty(weights)
        else:
            unformed = grouping_penalty(weights, self.groups[batch.users])
        return {
            "loss": fit + self.formation * unformed,
            "fit": fit,
            "communities_per_user": effective_number(weights).mean(),
            "communities": effective_number(weights.mean(dim=0)),
        }

    def _negative_scores(
        self, batch: CommunityBatch, vectors: Tensor, items: Tensor, bias: Tensor
    ) -> tuple[Tensor, Tensor]:
        assert batch.negative_columns is not None
        columns = batch.negative_columns
        rows = batch.target_rows[:, None].expand_as(columns)
        scores = self.network.score_pairs(vectors, items, bias, rows.reshape(-1), columns.clamp(min=0).reshape(-1))
        return scores.view(columns.shape), (columns >= 0).to(scores.dtype)


def loss_of(prepared: Any, batch: CommunityBatch, generator: torch.Generator) -> dict[str, Tensor]:  # noqa: ARG001
    """Return the named means of a batch, as `GradientStep` asks for them."""
    scalars: dict[str, Tensor] = prepared(batch)
    return scalars
