"""What is known of users when they are asked about: items, features as codes, and weights of edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from gossamer.data.content import ragged_take
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community.encoder import CodeTable
from gossamer.models.community.graph import BipartiteGraph
from gossamer.persistence import check_array


@dataclass(frozen=True)
class Known:
    """Users with their history over the model's items, their feature codes, and a weight per item of a history."""

    history: Interactions
    codes: CodeTable
    weights: np.ndarray | None

    def __len__(self) -> int:
        return len(self.history)

    def part(self, start: int, stop: int) -> Known:
        """Return some of the users."""
        stop = min(stop, len(self))
        begin, end = (int(self.history.indptr[place]) for place in (start, stop))
        weights = None if self.weights is None else self.weights[begin:end]
        return Known(self.history[start:stop], self.codes.take(torch.arange(start, stop)), weights)


@dataclass(frozen=True)
class TrainingUsers:
    """The users of the training data: items, their order in time (None without times), weights and feature codes."""

    users: Vocabulary
    indptr: np.ndarray
    indices: np.ndarray
    order: np.ndarray | None
    weights: np.ndarray | None
    codes: CodeTable
    has_features: bool

    @classmethod
    def of(cls, data: Interactions, codes: CodeTable, graph: BipartiteGraph, has_features: bool) -> TrainingUsers:
        """Keep what is needed of training data to answer for its users."""
        order = None if graph.time_order is None else graph.time_order.astype(np.int64)
        return cls(data.users, data.indptr, data.indices, order, graph.user_items.weights, codes, has_features)

    def known(self, items: Vocabulary) -> Known:
        """Return all of them; ranks stand for times, which is all that is asked of times."""
        history = Interactions(self.users, items, self.indptr, self.indices, time=self.order)
        return Known(history, self.codes, self.weights)

    def known_as(self, users: Vocabulary, items: Vocabulary) -> Known:
        """Return what is known of `users` in this order: nothing of those who were not in training."""
        rows = self.users.find(users.ids)
        is_known = rows >= 0
        lengths = np.where(is_known, np.diff(self.indptr)[np.maximum(rows, 0)], 0) if len(self.users) else 0 * rows
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        _, places = ragged_take(self.indptr, rows[is_known])
        history = Interactions(
            users, items, offsets, self.indices[places], time=None if self.order is None else self.order[places]
        )
        codes = self.codes.take(torch.from_numpy(rows.astype(np.int64)))
        return Known(history, codes, None if self.weights is None else self.weights[places])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of an artifact."""
        found = {"users.indptr": self.indptr, "users.indices": self.indices}
        if self.has_features:
            found["users.code_offsets"] = self.codes.offsets.numpy()
            found["users.code_values"] = self.codes.values.numpy()
            found["users.code_numbers"] = self.codes.numbers.numpy()
        if self.order is not None:
            found["users.order"] = self.order
        if self.weights is not None:
            found["users.weights"] = self.weights
        return found

    @classmethod
    def restore(
        cls, arrays: Mapping[str, np.ndarray], users: Vocabulary, num_values: int, num_numbers: int, num_items: int
    ) -> TrainingUsers:
        """Take back what an artifact holds, checked."""
        indptr = check_array(arrays, "users.indptr", np.int64, (len(users) + 1,))
        indices = check_array(arrays, "users.indices", np.int32, (None,))
        offsets, values = np.zeros(len(users) + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
        numbers = np.empty((len(users), 0), dtype=np.float32)
        if num_values + num_numbers:
            offsets = check_array(arrays, "users.code_offsets", np.int64, (len(users) + 1,))
            values = check_array(arrays, "users.code_values", np.int64, (None,))
            numbers = check_array(arrays, "users.code_numbers", np.float32, (len(users), num_numbers))
        for name, starts, entries, count in (
            ("users.indices", indptr, indices, num_items),
            ("users.code_values", offsets, values, num_values),
        ):
            if starts[0] != 0 or starts[-1] != len(entries) or (np.diff(starts) < 0).any():
                raise ValueError(f"array {name!r} must be cut by rising offsets that end at {len(entries)}")
            if len(entries) and not (entries.min() >= 0 and entries.max() < count):
                raise ValueError(f"array {name!r} must lie in 0 … {count - 1}, got {entries.min()} … {entries.max()}")
        order = weights = None
        if "users.order" in arrays:
            order = check_array(arrays, "users.order", np.int64, (len(indices),))
        if "users.weights" in arrays:
            weights = check_array(arrays, "users.weights", np.float32, (len(indices),))
        tensors = (torch.from_numpy(np.array(part)) for part in (offsets, values, numbers))
        return cls(users, indptr, indices, order, weights, CodeTable(*tensors), num_values + num_numbers > 0)
