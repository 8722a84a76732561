"""The number of communities is found where it was planted, and is one where nothing was."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.datasets.planted_communities import load_planted_communities
from gossamer.models.community.choosing import choose_num_communities
from gossamer.models.community.graph import Edges


@pytest.mark.parametrize("count", [1, 3, 7])
def test_the_planted_number_is_found(count: int) -> None:
    data = load_planted_communities(
        num_users=700, num_items=300, num_communities=count, items_per_user=20, mixing=0.3, seed=count
    )
    assert choose_num_communities(Edges(data.indptr, data.indices), data.num_items, most=20, seed=0) == count


def test_a_graph_too_small_to_tell_has_one() -> None:
    assert choose_num_communities(Edges(np.array([0, 0]), np.empty(0, np.int32)), 3, most=5, seed=0) == 1
    assert choose_num_communities(Edges(np.array([0, 1]), np.array([0], np.int32)), 1, most=5, seed=0) == 1
