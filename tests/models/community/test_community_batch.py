"""Batches: no target is ever seen, candidates exclude what users have, and a thread changes nothing."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tiny_community import two_tastes

from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community.batch import BatchMaker, CommunityBatches, Drawing, prefetched
from gossamer.models.community.encoder import no_codes
from gossamer.models.community.graph import BipartiteGraph

DATA = two_tastes()
GRAPH = BipartiteGraph.from_interactions(DATA, item_edges=3)
DRAWING = Drawing("softmax", None, 10, 100, "uniform", True, 2.0, 4)
ROWS = np.array([3, 17, 30])


def maker(**changes) -> BatchMaker:
    codes = no_codes(DATA.num_users), no_codes(DATA.num_items)
    return BatchMaker(GRAPH, *codes, replace(DRAWING, **changes))


def edges_of(batch, rows: torch.Tensor, columns: torch.Tensor) -> set[tuple[int, int]]:
    return set(zip(rows.tolist(), batch.item_ids[columns].tolist(), strict=True))


@pytest.mark.parametrize("by_time", [True, False])
@pytest.mark.parametrize("num_neighbours", [None, 2])
def test_histories_and_targets_divide_what_users_have(by_time: bool, num_neighbours: int | None) -> None:
    for seed in range(5):
        batch = maker(by_time=by_time, num_neighbours=num_neighbours).make(ROWS, seed)
        targets = edges_of(batch, batch.target_rows, batch.target_columns)
        known = set(zip(batch.history.rows().tolist(), batch.history_ids[batch.history.indices].tolist(), strict=True))
        has = {(place, int(item)) for place, row in enumerate(ROWS) for item in DATA[int(row) : int(row) + 1].indices}
        assert not known & targets
        assert known | targets == has if num_neighbours is None else known | targets <= has
        assert {row for row, _ in targets} == {0, 1, 2}
        if by_time:
            for place, row in enumerate(ROWS):
                part = DATA[int(row) : int(row) + 1]
                when = dict(zip(part.indices.tolist(), part.time.tolist(), strict=True))
                before = [when[item] for owner, item in known if owner == place]
                after = [when[item] for owner, item in targets if owner == place]
                assert max(before, default=-1) < min(after)


def test_weights_are_left_out_only_where_neighbours_were_drawn_by_them() -> None:
    graph = BipartiteGraph.from_interactions(DATA, weighted=True, item_edges=3)

    def history(num_neighbours: int | None):
        made = maker(num_neighbours=num_neighbours)
        made.graph = graph
        return made.make(ROWS, 0).history

    whole, nobody_above, sampled = history(None), history(100), history(1)
    assert len(set(whole.weights.tolist())) > 1
    torch.testing.assert_close(nobody_above.weights, whole.weights)
    assert sampled.weights is None


@pytest.mark.parametrize(
    "changes", [{}, {"by_time": False}, {"loss": "logistic", "negatives": "popularity", "num_negatives": 2}]
)
def test_a_batch_costs_what_is_in_it_not_what_is_in_the_graph(changes: dict[str, Any]) -> None:
    num_users = num_items = 200_000
    own = np.arange(num_users)
    data = Interactions.from_pairs(
        np.concatenate([own, own]),
        np.concatenate([own, (own + 1) % num_items]),
        time=np.arange(2 * num_users),
        user_ids=Vocabulary.numbered(num_users),
        item_ids=Vocabulary.numbered(num_items),
    )
    graph = BipartiteGraph.from_interactions(data, item_edges=0)
    batch_maker = BatchMaker(graph, no_codes(num_users), no_codes(num_items), replace(DRAWING, **changes))
    batch_maker.make(ROWS, 0)  # kernels are compiled
    tracemalloc.start()
    batch_maker.make(ROWS, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < num_users / 4, "bytes: even a mask of all users is longer"


def test_users_of_the_batch_are_not_in_anybodys_audience() -> None:
    graph_users = np.zeros(DATA.num_users, dtype=bool)
    graph_users[ROWS] = True
    batch_maker = maker(item_neighbours=50)
    seen: list[np.ndarray] = []
    plain = batch_maker.users.take
    batch_maker.users = type("Spy", (), {"take": lambda _, rows: (seen.append(rows.numpy()), plain(rows))[1]})()
    batch_maker.make(ROWS, 0)
    audience = seen[-1]
    assert len(audience) > 10
    assert not graph_users[audience].any()


def test_candidates_without_what_users_have() -> None:
    batch = maker().make(ROWS, 0)
    assert batch.candidates.tolist() == list(range(12))
    assert batch.log_share == 0
    masked = set(zip(batch.masked_rows.tolist(), batch.masked_places.tolist(), strict=True))
    assert masked == {
        (place, int(item)) for place, row in enumerate(ROWS) for item in DATA[int(row) : int(row) + 1].indices
    }
    few = maker(num_candidates=4).make(ROWS, 0)
    assert len(few.candidates) <= 4
    assert few.log_share == pytest.approx(np.log(12 / len(few.candidates)))


@pytest.mark.parametrize("negatives", ["uniform", "popularity"])
def test_negatives_are_none_of_the_users(negatives: str) -> None:
    batch = maker(loss="logistic", negatives=negatives, num_negatives=3).make(ROWS, 1)
    assert batch.negative_columns.shape == (len(batch.target_rows), 3)
    for row, columns in zip(batch.target_rows.tolist(), batch.negative_columns, strict=True):
        has = set(DATA[int(ROWS[row]) : int(ROWS[row]) + 1].indices.tolist())
        assert not has & set(batch.item_ids[columns].tolist())


def test_an_epoch_is_a_function_of_seed_and_number_and_may_begin_anywhere() -> None:
    batches = CommunityBatches(maker(), 16, 0)
    whole = [batch.target_columns.tolist() for batch, _ in batches.epoch(1)]
    assert whole == [batch.target_columns.tolist() for batch, _ in batches.epoch(1)]
    assert whole[1:] == [batch.target_columns.tolist() for batch, _ in batches.epoch(1, start=1)]
    assert whole != [batch.target_columns.tolist() for batch, _ in batches.epoch(2)]
    with pytest.raises(ValueError, match="device must be 'cpu' for CommunityRecommender, got 'cuda'"):
        next(batches.epoch(0))[0].to("cuda")


def test_errors_of_the_thread_come_out_and_an_unfinished_epoch_ends_it() -> None:
    def broken():
        yield 1
        raise RuntimeError("no more")

    values = prefetched(broken())
    assert next(values) == 1
    with pytest.raises(RuntimeError, match="no more"):
        next(values)
    endless = prefetched(iter(range(10**9)))
    assert [next(endless), next(endless)] == [0, 1]
    endless.close()
