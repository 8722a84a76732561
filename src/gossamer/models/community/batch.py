"""A batch of users: what is known of them, what is to be predicted, and the items they are told apart from."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from gossamer.core.randomness import derive_seed
from gossamer.data.batching import Batches
from gossamer.models.community.encoder import CodeTable
from gossamer.models.community.graph import BipartiteGraph, Edges
from gossamer.models.community.neighbourhood import Neighbours, of_arrays, recent_weights, some_neighbours
from gossamer.models.community.sampling import divide_rows, sample_negatives, sample_neighbours

AHEAD = 2  # batches that are made beside training


@dataclass(frozen=True)
class Drawing:
    """How a batch is drawn from the graph; the numbers are those of the estimator's arguments."""

    loss: str
    num_neighbours: int | None
    num_negatives: int
    num_candidates: int
    negatives: str
    by_time: bool
    recent_half_life: float | None
    item_neighbours: int
    low: float = 0.3
    high: float = 0.9
    nothing: float = 0.05  # of users who are met without a history, so that new ones are nothing new


class CommunityBatch:
    """Tensors of one update; a plain class, which the loop hands to the network as it is.

    `history` numbers items as in `history_ids`, `audience` users as in `audience_users`, `alike` items as in
    `alike_ids`. Targets and negatives are (row of the batch, column of `item_ids`); candidates are columns that all
    rows share, without those in `masked`, which the row has.
    """

    def __init__(self, **parts: Any) -> None:
        self.users: Int[Tensor, " B"] = parts["users"]
        self.user_codes: CodeTable = parts["user_codes"]
        self.history: Neighbours = parts["history"]
        self.history_ids: Int[Tensor, " n"] = parts["history_ids"]
        self.history_codes: CodeTable = parts["history_codes"]
        self.item_ids: Int[Tensor, " C"] = parts["item_ids"]
        self.item_codes: CodeTable = parts["item_codes"]
        self.audience: Neighbours = parts["audience"]
        self.audience_codes: CodeTable = parts["audience_codes"]
        self.alike: Neighbours = parts["alike"]
        self.alike_ids: Int[Tensor, " n"] = parts["alike_ids"]
        self.alike_codes: CodeTable = parts["alike_codes"]
        self.target_rows: Int[Tensor, " T"] = parts["target_rows"]
        self.target_columns: Int[Tensor, " T"] = parts["target_columns"]
        self.negative_columns: Int[Tensor, "T n"] | None = parts.get("negative_columns")
        self.candidates: Int[Tensor, " S"] | None = parts.get("candidates")
        self.masked_rows: Int[Tensor, " m"] | None = parts.get("masked_rows")
        self.masked_places: Int[Tensor, " m"] | None = parts.get("masked_places")
        self.log_share: float = parts.get("log_share", 0.0)

    def to(self, device: torch.device | str) -> CommunityBatch:
        """Return the batch itself: it is made for the CPU."""
        if torch.device(device).type != "cpu":
            raise ValueError(f"device must be 'cpu' for CommunityRecommender, got {device!r}")
        return self


class BatchMaker:
    """Draws batches from a graph and the feature codes of its nodes.

    A batch costs what is in it: nothing here is as long as all users or all items, or an epoch would cost their square.
    """

    def __init__(self, graph: BipartiteGraph, users: CodeTable, items: CodeTable, drawing: Drawing) -> None:
        self.graph, self.users, self.items, self.drawing = graph, users, items, drawing
        self.active = np.flatnonzero(graph.user_items.degrees > 0)
        degrees = graph.item_users.degrees.astype(np.float64)
        self.popularity = np.cumsum(degrees**0.75) if drawing.negatives == "popularity" else None

    def make(self, numbers: Int[np.ndarray, " B"], seed: int) -> CommunityBatch:
        """Return the batch of the users with these numbers among those who have anything."""
        rows = self.active[numbers]
        known, lengths, places = self._divided(rows, seed)
        row_of_edge = np.repeat(np.arange(len(rows)), lengths)
        items = self.graph.user_items.indices[places].astype(np.int64)
        history = self._history(rows, known, row_of_edge, places, seed)
        target_rows, target_items = row_of_edge[~known], items[~known]
        chosen = self._compared(rows, row_of_edge, items, target_rows, target_items, seed)
        item_ids = chosen.pop("ids")
        hidden = np.sort(rows)  # the target edge must not be seen from the item's side either
        history_ids, history = history.numbered()
        return CommunityBatch(
            users=torch.from_numpy(rows),
            user_codes=self.users.take(torch.from_numpy(rows)),
            history=history,
            history_ids=history_ids,
            history_codes=self.items.take(history_ids),
            item_ids=torch.from_numpy(item_ids),
            item_codes=self.items.take(torch.from_numpy(item_ids)),
            target_rows=torch.from_numpy(target_rows),
            target_columns=torch.from_numpy(np.searchsorted(item_ids, target_items)),
            **self._around(item_ids, hidden, seed),
            **chosen,
        )

    def _divided(self, rows: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        drawing, edges = self.drawing, self.graph.user_items
        order = self.graph.time_order if drawing.by_time else None
        known = divide_rows(
            edges.indptr,
            rows,
            seed=derive_seed(seed, "divide"),
            low=drawing.low,
            high=drawing.high,
            nothing=drawing.nothing,
            order=order,
        )
        lengths = edges.indptr[rows + 1] - edges.indptr[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return known, lengths, np.repeat(edges.indptr[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])

    def _history(
        self, rows: np.ndarray, known: np.ndarray, row_of_edge: np.ndarray, places: np.ndarray, seed: int
    ) -> Neighbours:
        """Return the known items of each user, all or a sample, with their weights."""
        drawing, edges = self.drawing, self.graph.user_items
        counts = np.bincount(row_of_edge[known], minlength=len(rows))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        kept = places[known]
        is_sampled = drawing.num_neighbours is not None and bool((counts > drawing.num_neighbours).any())
        if is_sampled:
            assert drawing.num_neighbours is not None
            sampled = Edges(offsets, np.arange(len(kept), dtype=np.int32), _taken(edges.weights, kept))
            drawn = sample_neighbours(
                offsets,
                sampled.indices,
                np.arange(len(rows)),
                drawing.num_neighbours,
                seed=derive_seed(seed, "history"),
                cumulative=sampled.cumulative,
            )
            is_there = drawn >= 0
            offsets = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))])
            kept = kept[drawn[is_there]]
        # Draws in proportion to weights have them already; a whole history has not.
        weights = None if is_sampled else _taken(edges.weights, kept)
        recent = None
        if drawing.recent_half_life is not None and self.graph.time_order is not None:
            ranks = self.graph.time_order[kept]
            # In order of time the known ones came first; of a random division the hidden ones count as later, too.
            lengths = counts if drawing.by_time else edges.indptr[rows + 1] - edges.indptr[rows]
            recent = recent_weights(ranks, np.repeat(lengths, np.diff(offsets)), drawing.recent_half_life)
        return of_arrays(offsets, edges.indices[kept], weights, recent)

    def _compared(
        self,
        rows: np.ndarray,
        row_of_edge: np.ndarray,
        items: np.ndarray,
        target_rows: np.ndarray,
        target_items: np.ndarray,
        seed: int,
    ) -> dict[str, Any]:
        """Return the items of the batch and what targets are compared with: negatives of their own, or candidates."""
        drawing, num_items = self.drawing, self.graph.num_items
        edges = self.graph.user_items
        if drawing.loss == "logistic":
            negatives = sample_negatives(
                edges.indptr,
                edges.indices,
                rows[target_rows],
                drawing.num_negatives,
                num_items,
                seed=derive_seed(seed, "negatives"),
                cumulative=self.popularity,
            )
            ids = np.unique(np.concatenate([target_items, negatives[negatives >= 0]]))
            columns = np.where(negatives >= 0, np.searchsorted(ids, negatives), -1)
            return {"ids": ids, "negative_columns": torch.from_numpy(columns)}
        if num_items <= drawing.num_candidates:
            drawn = np.arange(num_items)
        else:
            generator = np.random.default_rng(derive_seed(seed, "candidates"))
            drawn = np.unique(generator.integers(num_items, size=drawing.num_candidates))
        ids = np.union1d(drawn, target_items)
        place = np.minimum(np.searchsorted(drawn, items), len(drawn) - 1)
        is_masked = drawn[place] == items
        return {
            "ids": ids,
            "candidates": torch.from_numpy(np.searchsorted(ids, drawn)),
            "masked_rows": torch.from_numpy(row_of_edge[is_masked]),
            "masked_places": torch.from_numpy(place[is_masked]),
            "log_share": float(np.log(num_items / len(drawn))),
        }

    def _around(self, item_ids: np.ndarray, hidden: np.ndarray, seed: int) -> dict[str, Any]:
        count = self.drawing.item_neighbours
        audience = some_neighbours(
            self.graph.item_users, item_ids, count, seed=derive_seed(seed, "audience"), excluded=hidden
        )
        alike = some_neighbours(self.graph.item_items, item_ids, count, seed=derive_seed(seed, "alike"))
        users, audience = audience.numbered()
        alike_ids, alike = alike.numbered()
        return {
            "audience": audience,
            "audience_codes": self.users.take(users),
            "alike": alike,
            "alike_ids": alike_ids,
            "alike_codes": self.items.take(alike_ids),
        }


class CommunityBatches(Batches[CommunityBatch]):
    """Batches whose draws depend on seed, epoch and number alone, made in a thread beside training."""

    def __init__(self, maker: BatchMaker, batch_size: int, random_state: int | None) -> None:
        super().__init__(lambda rows: maker.make(rows, 0), len(maker.active), batch_size, random_state=random_state)
        self.maker = maker

    def epoch(
        self, epoch: int, *, rank: int = 0, world_size: int = 1, start: int = 0
    ) -> Iterator[tuple[CommunityBatch, float]]:
        """Yield (batch, weight) from batch `start` on."""
        plain: Batches[np.ndarray] = Batches(
            lambda rows: rows, self.num_examples, self.batch_size, random_state=self.seed
        )
        drawn = plain.epoch(epoch, rank=rank, world_size=world_size, start=start)
        made = (
            (self.maker.make(rows, derive_seed(self.seed, "draw", epoch, start + number, rank)), weight)
            for number, (rows, weight) in enumerate(drawn)
        )
        return prefetched(made)


def prefetched(made: Iterator[Any]) -> Iterator[Any]:
    """Yield what an iterator makes, which a thread does ahead of time; an error comes out where it would have."""
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=AHEAD)
    is_over = threading.Event()

    def put(kind: str, value: Any) -> bool:
        while not is_over.is_set():
            try:
                waiting.put((kind, value), timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for value in made:
                if not put("value", value):
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            kind, value = waiting.get()
            if kind == "error":
                raise value
            if kind == "end":
                return
            yield value
    finally:
        is_over.set()
        thread.join()


def _taken(values: np.ndarray | None, places: np.ndarray) -> np.ndarray | None:
    return None if values is None else values[places]
