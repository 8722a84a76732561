"""Communities start at the centres of users, once, and a resumed run ends where an uninterrupted one does."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_community import SETTINGS, fitted, two_tastes

from gossamer.models.community import CommunityRecommender, training
from gossamer.models.community.batch import BatchMaker
from gossamer.models.community.encoder import CodeTable
from gossamer.models.community.graph import BipartiteGraph
from gossamer.models.community.neighbourhood import history_neighbours
from gossamer.models.community.network import CommunityNetwork
from gossamer.models.community.objective import Training


def test_an_interrupted_run_ends_with_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, settings = two_tastes(), SETTINGS | {"epochs": 3}
    whole = CommunityRecommender(**settings).fit(data)
    plain = training.CommunityStep.__call__

    def interrupted(step: Any, batch: Any, weight: float) -> Any:
        if step.num_updates == 5:
            raise KeyboardInterrupt
        return plain(step, batch, weight)

    with monkeypatch.context() as patch:
        patch.setattr(training.CommunityStep, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            CommunityRecommender(**settings).fit(data, checkpoint=tmp_path / "run")
    assert (tmp_path / "run").exists()
    resumed = CommunityRecommender(**settings).fit(data, checkpoint=tmp_path / "run")
    for name, array in whole.learned_arrays().items():
        np.testing.assert_array_equal(array, resumed.learned_arrays()[name], err_msg=name)


def test_communities_start_where_users_are_and_only_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    plain = training.start_communities
    monkeypatch.setattr(training, "start_communities", lambda *given: (calls.append(1), plain(*given))[1])
    CommunityRecommender(**SETTINGS | {"epochs": 2, "warmup_epochs": 1}).fit(two_tastes())
    assert len(calls) == 1
    CommunityRecommender(**SETTINGS | {"epochs": 2, "community_start": "orthonormal"}).fit(two_tastes())
    CommunityRecommender(**SETTINGS | {"epochs": 2, "method": "graphsage"}).fit(two_tastes())
    assert len(calls) == 1


def test_communities_start_from_histories_as_they_are_met_later(monkeypatch: pytest.MonkeyPatch) -> None:
    data, model = two_tastes(), fitted()
    seen = []
    plain = CommunityNetwork.full_users
    monkeypatch.setattr(CommunityNetwork, "full_users", lambda *given: (seen.append(given[-1]), plain(*given))[1])
    graph = BipartiteGraph.from_interactions(data, item_edges=3)
    items = CodeTable.of(model.item_reader_.read(data.item_features, data.num_items))
    maker = BatchMaker(graph, model.training_users_.codes, items, model._drawing())
    training.start_communities(Training(copy.deepcopy(model.network_), "softmax", 0.1), maker, 0)
    expected = history_neighbours(data, None, model.recent_half_life)
    assert seen[0].indices.tolist() == expected.indices.tolist()
    torch.testing.assert_close(seen[0].recent, expected.recent)


def test_many_items_are_trained_by_row_sparse_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    from gossamer.models.community import encoder

    monkeypatch.setattr(encoder, "ROW_SPARSE_FROM", 5)
    monkeypatch.setattr(training, "ROW_SPARSE_FROM", 5)
    model = CommunityRecommender(**SETTINGS).fit(two_tastes())
    assert isinstance(model.network_.neighbour_encoder.ids, torch.nn.Embedding)
    assert model.network_.neighbour_encoder.ids.sparse
    losses = [epoch["loss"] for epoch in model.history_["epochs"]]
    assert losses[-1] < losses[0]
    with pytest.raises(ValueError, match=r"weight_decay must be 0 with 5 items or more.*got 0.1; use dropout"):
        CommunityRecommender(**SETTINGS | {"weight_decay": 0.1}).fit(two_tastes())
