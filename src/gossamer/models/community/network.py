"""The network: encoders, one hop of GraphSAGE on both sides, communities, and a classifier (3.1–3.14)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.community.communities import (
    community_basis,
    community_weights,
    mix_communities,
    orthonormal_start,
    project,
)
from gossamer.models.community.encoder import CodeTable, WideAndDeep
from gossamer.models.community.layers import Aggregator, SageLayer, weighted_mean
from gossamer.models.community.neighbourhood import Neighbours

# What of a user the classifier is given, by method: the full embedding, the community's, and what is the user's own.
PARTS = {
    "bihgnn": ("community", "individual"),
    "graphsage": ("full",),
    "bi-gnn": ("full", "community"),
    "diffpool-s": ("community",),
    "o-gnn": ("community",),
    "features": ("full",),  # no graph at all: what popularity and features say
}
NUMBERS_AT_ONCE = 1 << 18  # of a hidden layer over pairs of users and items: a megabyte stays in the cache
DISTANCES = ("cosine", "network")
COMMUNITY_PARTS = ("mixture", "projection", "both")


@dataclass(frozen=True)
class Widths:
    """Sizes of a network, in one place because they decide the shapes of an artifact."""

    embedding_dim: int
    num_communities: int
    hidden_dim: int
    num_items: int
    user_values: int
    user_numbers: int
    item_values: int
    item_numbers: int


class UserParts(dict[str, Tensor]):
    """The embeddings of a batch of users by name: full, community, individual."""


class CommunityNetwork(nn.Module):
    """Scores b_i + s ⟨Σ_p A_p e_u^(p), e_i⟩ + v·relu(U_u + V_i), with U and V computed once per user and per item.

    `method` says which parts p the classifier sees, see `PARTS`. The item's bias knows popularity.
    """

    def __init__(
        self,
        widths: Widths,
        *,
        method: str = "bihgnn",
        aggregator: str = "mean",
        distance: str = "cosine",
        community_part: str = "mixture",
        temperature: float = 0.1,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.widths, self.method, self.distance, self.community_part = widths, method, distance, community_part
        self.temperature = temperature
        width = widths.embedding_dim
        self.user_encoder = WideAndDeep(widths.user_values, widths.user_numbers, width)
        # An item has two embeddings, as a neighbour that speaks for users and as what is recommended to them.
        self.neighbour_encoder, self.target_encoder = (
            WideAndDeep(
                widths.item_values,
                widths.item_numbers,
                width,
                num_ids=0 if method == "features" else widths.num_items,
            )
            for _ in range(2)
        )
        self.history = Aggregator(aggregator, width)
        self.audience = Aggregator(aggregator, width)
        self.alike = Aggregator(aggregator, width)
        self.user_layer = SageLayer(width, 2, dropout)
        self.item_layer = SageLayer(width, 2, 0.0)
        self.parts = nn.ModuleDict({part: _turn(width) for part in PARTS[method]})
        self.log_scale = nn.Parameter(torch.full((1,), 0.5 * math.log(width)))
        self.item_bias = nn.Parameter(torch.zeros(widths.num_items))
        self.stranger_bias = nn.Parameter(torch.zeros(1))
        self.feature_bias = nn.Linear(width, 1, bias=False)
        if self.has_communities:
            self._add_communities(generator)
        if widths.hidden_dim:
            self.user_hidden = nn.Linear(width, widths.hidden_dim)
            self.item_hidden = nn.Linear(width, widths.hidden_dim, bias=False)
            self.hidden_score = nn.Linear(widths.hidden_dim, 1, bias=False)

    def _add_communities(self, generator: torch.Generator | None) -> None:
        width, count = self.widths.embedding_dim, self.widths.num_communities
        start = generator if generator is not None else torch.Generator().manual_seed(0)
        self.space = nn.Parameter(orthonormal_start(count, width, start))
        if self.distance == "network":
            self.user_distance = nn.Linear(width, width)
            self.community_distance = nn.Linear(width, width, bias=False)
            self.distance_score = nn.Linear(width, 1)

    @property
    def has_communities(self) -> bool:
        """Whether the method has any."""
        return "community" in PARTS[self.method]

    def community_space(self) -> Float[Tensor, "K D"]:
        """Return the communities' embeddings; O-GNN's are orthonormal in every step."""
        return community_basis(self.space).T if self.method == "o-gnn" else self.space

    def closeness(self, full: Float[Tensor, "B D"]) -> Float[Tensor, "B K"]:
        """Return f_d of (3.9): the cosine, or the paper's network with a value in [0, 1]."""
        space = self.community_space()
        if self.distance == "cosine":
            return functional.normalize(full, dim=1) @ functional.normalize(space, dim=1).T
        hidden = torch.relu(self.user_distance(full)[:, None, :] + self.community_distance(space)[None, :, :])
        return torch.sigmoid(self.distance_score(hidden).squeeze(-1))

    def memberships(self, full: Float[Tensor, "B D"]) -> Float[Tensor, "B K"]:
        """Return how much each user belongs to each community."""
        return community_weights(self.closeness(full), self.temperature)

    def full_users(self, codes: CodeTable, items: Float[Tensor, "n D"], history: Neighbours) -> Float[Tensor, "B D"]:
        """Return e^(F) of users from their features and from the items of their history, rows of `items` (3.3–3.5)."""
        own = self.user_encoder(codes)
        if self.method == "features":
            alone: Tensor = self.user_layer(own, torch.zeros_like(own), torch.zeros_like(own))
            return alone
        said = self.history(own, items, history)
        latest = weighted_mean(items, history, history.recent if history.recent is not None else history.weights)
        # A mean of few vectors is longer than one of many: 3 is about √10, as if ten items were the latest.
        full: Tensor = self.user_layer(own, said, 3.0 * latest)
        return full

    def user_parts(self, full: Float[Tensor, "B D"]) -> UserParts:
        """Return what the classifier is given of each user (3.9–3.13), with the memberships beside it."""
        found = UserParts(full=full)
        if not self.has_communities:
            return found
        space = self.community_space()
        within = project(full, community_basis(self.space))
        found["memberships"] = self.memberships(full)
        mixture = mix_communities(found["memberships"], space)
        found["community"] = {"mixture": mixture, "projection": within, "both": within + mixture}[self.community_part]
        found["individual"] = full - within
        return found

    def user_vectors(self, parts: UserParts, only: tuple[str, ...] | None = None) -> Float[Tensor, "B D"]:
        """Return Σ_p A_p e^(p) times the scale, of all parts or of some."""
        chosen = [name for name in self.parts if only is None or name in only]
        if not chosen:
            return torch.zeros_like(parts["full"])
        return sum(self.parts[name](parts[name]) for name in chosen) * torch.exp(self.log_scale)  # type: ignore[no-any-return]

    def item_vectors(
        self,
        own: Float[Tensor, "C D"],
        ids: Int[Tensor, " C"],
        audience: Neighbours,
        users: Float[Tensor, "m D"],
        alike: Neighbours,
        items: Float[Tensor, "n D"],
        is_alone: Bool[Tensor, " C"] | None = None,
    ) -> tuple[Float[Tensor, "C D"], Float[Tensor, " C"]]:
        """Return e_i and b_i of items from their own embedding, the users who have them, and items that are alike.

        `audience` numbers rows of `users`, `alike` rows of `items`, as neighbours see them (3.6–3.8); items that are
        `is_alone` are treated as if they had neither, as new ones have not.
        """
        said, like = torch.zeros_like(own), torch.zeros_like(own)
        if self.method != "features":
            said, like = self.audience(own, users, audience), self.alike(own, items, alike)
        if is_alone is not None:
            said, like = (torch.where(is_alone[:, None], 0.0, given) for given in (said, like))
        embedded = self.item_layer(own, said, like)
        bias = torch.where(ids >= 0, self.item_bias[ids.clamp(min=0)], self.stranger_bias)
        # The layer is bounded; the embedding itself lets items that matter much to few people lie far out.
        return embedded + own, bias + self.feature_bias(embedded).squeeze(-1)

    def score_all(
        self, vectors: Float[Tensor, "B D"], items: Float[Tensor, "C D"], bias: Float[Tensor, " C"]
    ) -> Float[Tensor, "B C"]:
        """Return the score of every user with every item."""
        scores = vectors @ items.T + bias
        if self.widths.hidden_dim:
            scores = scores + self._hidden_scores(self.user_hidden(vectors), self.item_hidden(items))
        return scores

    def _hidden_scores(self, users: Float[Tensor, "B H"], items: Float[Tensor, "C H"]) -> Float[Tensor, "B C"]:
        """Return v·relu(U_u + V_i) of every user with every item, as many users at once as keep B C H numbers few."""
        size = max(1, NUMBERS_AT_ONCE // max(1, items.numel()))
        weight = self.hidden_score.weight[0]
        return torch.cat([torch.relu(some[:, None] + items) @ weight for some in torch.split(users, size)])

    def score_pairs(
        self,
        vectors: Float[Tensor, "B D"],
        items: Float[Tensor, "C D"],
        bias: Float[Tensor, " C"],
        rows: Int[Tensor, " P"],
        columns: Int[Tensor, " P"],
    ) -> Float[Tensor, " P"]:
        """Return the scores of pairs (rows[p], columns[p])."""
        scores = (vectors[rows] * items[columns]).sum(dim=1) + bias[columns]
        if self.widths.hidden_dim:
            hidden = torch.relu(self.user_hidden(vectors)[rows] + self.item_hidden(items)[columns])
            scores = scores + self.hidden_score(hidden).squeeze(-1)
        return scores


def _turn(width: int) -> nn.Linear:
    """Return a linear map that begins as the identity: a random turn would have to be learned away first."""
    layer = nn.Linear(width, width, bias=False)
    nn.init.eye_(layer.weight)
    return layer
