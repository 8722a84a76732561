"""Negative pairs (section 3.2): unrelated objects should not share anchors, L(T, N) = Σ_(u,v)∈N |t_u|ᵀ|t_v|."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gossamer.core.checks import check_int
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.knowledge.relations import Relations

ROUNDS = 20  # of drawing again what was related; a graph that is denser than that gives fewer pairs
COMPARISONS_AT_ONCE = 1 << 22


def sample_negative_pairs(
    relations: Relations, ids: Int[Tensor, " B"], n: int, generator: torch.Generator
) -> Int[Tensor, "P 2"]:
    """Return at most n pairs of different, unrelated objects drawn from `ids`, uniformly over its different ids.

    Related pairs are drawn again a few times and then left out, so P < n where nearly all are related.
    """
    check_int("n", n, at_least=1)
    objects = torch.unique(ids).cpu()
    if len(objects) and not 0 <= int(objects[0]) <= int(objects[-1]) < relations.num_objects:
        raise ValueError(
            f"ids must be from 0 to {relations.num_objects - 1}, got {int(objects[0])} to {int(objects[-1])}"
        )
    kept = torch.empty(0, 2, dtype=torch.long)
    for _ in range(ROUNDS if len(objects) > 1 else 0):
        places = torch.randint(len(objects), (n - len(kept), 2), generator=generator)
        drawn = objects[places]
        related = relations.are_related(drawn[:, 0].numpy(), drawn[:, 1].numpy())
        unrelated = (drawn[:, 0] != drawn[:, 1]) & ~torch.from_numpy(related)
        kept = torch.cat([kept, drawn[unrelated]])
        if len(kept) == n:
            break
    return kept.to(ids.device)


def negative_pair_loss(table: AnchorEmbedding, pairs: Int[Tensor, "P 2"]) -> Float[Tensor, ""]:
    """Return Σ_(u,v) t_u·t_v over pairs, differentiable in T ≥ 0.

    Rows of T are compared slot by slot, so that memory is in the order of P · S and never of V · K or P · K.
    """
    if pairs.dim() != 2 or pairs.shape[1] != 2:
        raise ValueError(f"pairs must have two columns of ids, got shape {tuple(pairs.shape)}")
    first, second = table.check_ids(pairs).unbind(1)
    table.catch_up(pairs.reshape(-1))
    pair, left, right = _shared_slots(table, first, second)
    of_first = functional.embedding(first, table.values, sparse=table.sparse)
    of_second = functional.embedding(second, table.values, sparse=table.sparse)
    return (of_first[pair, left] * of_second[pair, right]).sum()


def _shared_slots(table: AnchorEmbedding, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return (pair, slot of the first, slot of the second) wherever both have an active anchor."""
    pairs_at_once = max(1, COMPARISONS_AT_ONCE // table.num_slots**2)
    found = []
    for start in range(0, len(first), pairs_at_once):
        block = slice(start, start + pairs_at_once)
        mine, theirs = table.slots.index_select(0, first[block]), table.slots.index_select(0, second[block])
        same = (mine.unsqueeze(2) == theirs.unsqueeze(1)) & (mine < table.num_active).unsqueeze(2)
        found.append(same.nonzero() + same.new_tensor([start, 0, 0], dtype=torch.long))
    pair, left, right = torch.cat(found or [first.new_empty(0, 3)]).unbind(1)
    return pair, left, right
