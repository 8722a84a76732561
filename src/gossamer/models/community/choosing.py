"""Which communities? Groups in the graph's spectrum, as many as it has directions that graphs without any have not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.core.checks import check_int
from gossamer.core.randomness import derive_seed, numpy_generator
from gossamer.models.community.graph import Edges
from gossamer.models.community.spectrum import graph_spectrum, spectral_groups

if TYPE_CHECKING:
    from gossamer.models.community.recommender import CommunityRecommender

MOST_COMMUNITIES = 50
NUM_NULLS = 3
MARGIN = 1.02  # the largest of a few shuffled graphs is a little below the largest of all of them


def choose_num_communities(user_items: Edges, num_items: int, *, most: int, seed: int) -> int:
    """Return how many singular values of the graph rise above those of graphs with the same degrees but no communities.

    The values are those of `graph_spectrum`. K separate groups of users have K of them: the first, which every graph
    has, and one for each direction in which groups differ. The other graphs have the same edges dealt out anew.
    """
    check_int("most", most, at_least=1)
    count = min(most, len(user_items.indptr) - 2, num_items - 1)
    if count < 1 or len(user_items.indices) == 0:
        return 1
    _, values = graph_spectrum(user_items, user_items.indices, num_items, count, seed)
    highest = 0.0
    for number in range(NUM_NULLS):
        generator = np.random.default_rng(derive_seed(seed, "null", number))
        dealt = generator.permutation(user_items.indices)
        _, null = graph_spectrum(user_items, dealt, num_items, min(2, count), seed)
        highest = max(highest, float(null[1]) if len(null) > 1 else 0.0)
    return max(1, 1 + int(np.count_nonzero(values[1:] > MARGIN * highest)))


def count_communities(model: CommunityRecommender, user_items: Edges) -> int:
    """Return the number of communities that the model is given or, without one, that of the graph."""
    if model.num_communities is not None:
        return model.num_communities
    most = min(MOST_COMMUNITIES, model.embedding_dim - 1)
    return choose_num_communities(user_items, len(model.items_), most=most, seed=_seed(model))


def find_groups(model: CommunityRecommender, user_items: Edges) -> Float[Tensor, "N K"] | None:
    """Return the groups that communities form from, None where the model is not to take them from the graph."""
    if model.community_start != "spectrum" or not model.network_.has_communities:
        return None
    count, temperature = model.num_communities_, model.temperature
    groups = spectral_groups(user_items, len(model.items_), count=count, temperature=temperature, seed=_seed(model))
    return torch.from_numpy(groups)


def _seed(model: CommunityRecommender) -> int:
    return int(numpy_generator(model.random_state).integers(2**31))
