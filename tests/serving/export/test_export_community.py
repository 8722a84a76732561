"""Graph recommenders beyond the contracts: every way to listen to neighbours, methods, weights and times."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.interactions import Interactions
from gossamer.models.community import CommunityRecommender
from gossamer.testing.export_parity import Session, all_scores, assert_parity, padded
from gossamer.testing.right_answers import two_blocks

pytest.importorskip("onnxruntime")
SMALL = {"embedding_dim": 6, "num_communities": 2, "item_edges": 3, "epochs": 1, "batch_size": 12}


@pytest.mark.parametrize(
    "settings",
    [
        {"aggregator": "max"},
        {"aggregator": "attention", "community_part": "both"},
        {"distance": "network", "community_part": "projection"},
        {"method": "o-gnn"},
        {"method": "bi-gnn", "hidden_dim": 3},
        {"weighted": True},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_methods(settings):
    data = two_blocks().history
    assert_parity(CommunityRecommender(**SMALL, **settings).fit(data), data)


def test_what_came_last_counts_more():
    given = two_blocks().history
    users, items = given.pairs()
    time = np.random.default_rng(0).permutation(given.nnz)
    data = Interactions.from_pairs(
        given.users.ids.gather(users), given.items.ids.gather(items), time=time.astype(np.int64)
    )
    model = CommunityRecommender(recent_half_life=1.0, **SMALL).fit(data)
    some = data[:3].aligned_to(model.items_)
    ids, values = padded(some.matrix())
    recent = np.zeros_like(values)
    for row in range(3):
        begin, end = some.indptr[row : row + 2]
        later = (some.time[begin:end][None, :] > some.time[begin:end][:, None]).sum(axis=1)
        recent[row, : end - begin] = 0.5**later
    found = Session(model)(items=ids, values=values, recent=recent)
    np.testing.assert_allclose(found["scores"], all_scores(model, data[:3]), atol=1e-5)
    np.testing.assert_allclose(found["memberships"], model.memberships(data[:3]), atol=1e-5)
