"""Items that come after training: embedded from their features and from the users who took them, at once."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl
import torch

from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community.encoder import CodeTable
from gossamer.models.community.graph import BipartiteGraph, Edges
from gossamer.models.community.inference import embed_items, embed_neighbours

if TYPE_CHECKING:
    from gossamer.models.community.recommender import CommunityRecommender

Model = TypeVar("Model", bound="CommunityRecommender")


def add_items(model: Model, data: Interactions) -> Model:
    """Return a copy of `model` with the new items of `data` at the end of its catalogue; itself if there are none."""
    new = np.flatnonzero(model.items_.find(data.items.ids) < 0)
    if len(new) == 0:
        return model
    part = data.take_items(new)
    codes = CodeTable.of(model.item_reader_.read(part.item_features, len(new)))
    graph = _around(model, part)
    vectors, bias = embed_items(model.network_, codes, model.training_users_.codes, graph, 0)
    larger = copy(model)
    larger.items_ = Vocabulary(pl.concat([model.items_.ids, part.items.ids.cast(model.items_.ids.dtype)]))
    larger.item_vectors_ = torch.cat([model.item_vectors_, vectors])
    larger.item_bias_ = torch.cat([model.item_bias_, bias])
    neighbours = embed_neighbours(model.network_, codes, 0)
    larger.neighbour_vectors_ = torch.cat([model.neighbour_vectors_, neighbours])
    larger.popularity_ = np.concatenate([model.popularity_, part.item_counts.astype(np.float32)])
    return larger


def _around(model: CommunityRecommender, part: Interactions) -> BipartiteGraph:
    """Return the edges of new items to users of the training data; others say nothing of whom an item is for."""
    users, items = part.pairs()
    rows = model.training_users_.users.find(part.users.ids)[users]
    is_known = rows >= 0
    order = np.lexsort((rows[is_known], items[is_known]))
    counts = np.bincount(items[is_known], minlength=part.num_items)
    audience = Edges(np.concatenate([[0], np.cumsum(counts)]), rows[is_known][order].astype(np.int32))
    nothing = Edges(np.zeros(part.num_items + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    nobody = Edges(np.zeros(len(model.training_users_.users) + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    return BipartiteGraph(nobody, audience, nothing, None)
