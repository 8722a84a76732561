"""A fitted rating model: a mean, two tables of vectors, and the biases that are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.ratings.als_side import Side
from gossamer.models.embeddings.ratings.als_step import AnchorSweep
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.tables import find_table
from gossamer.networks.matrix_factorisation import MatrixFactorisation
from gossamer.persistence import JSON, check_array

PAIRS_AT_ONCE = 1 << 16


def num_blocks(num_pairs: int) -> int:
    """Return in how many blocks pairs are rated.

    >>> num_blocks(0), num_blocks(PAIRS_AT_ONCE), num_blocks(PAIRS_AT_ONCE + 1)
    (0, 1, 2)
    """
    return -(-num_pairs // PAIRS_AT_ONCE)


@dataclass
class SparseBiases:
    """Biases of the rows that have one: `values` of `rows`, in rising order."""

    rows: Int[np.ndarray, " n"]
    values: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, dense: Float[np.ndarray, " V"]) -> SparseBiases:
        """Return the nonzero biases."""
        rows = np.flatnonzero(dense)
        return cls(rows.astype(np.int32), dense[rows].astype(np.float32))

    def dense(self, num_rows: int) -> Float[np.ndarray, " V"]:
        """Return one bias per row."""
        biases = np.zeros(num_rows, dtype=np.float32)
        biases[self.rows] = self.values
        return biases


@dataclass
class RatingModel:
    """Rates a pair by μ + b_u + b_i + p_u·q_i.

    With `shared_biases` vectors have one coordinate more than they match by: what the anchors add to the row's bias.
    `least_blocks` is for divided tables, of which all processes must make the same number of lookups: whoever has fewer
    pairs looks nothing up in the blocks that are left.
    """

    mean: float
    users: EmbeddingTable
    items: EmbeddingTable
    user_biases: SparseBiases
    item_biases: SparseBiases
    shared_biases: bool = False
    least_blocks: int = 0

    @classmethod
    def from_sweep(cls, mean: float, sweep: AnchorSweep) -> RatingModel:
        """Return what the alternating solver has found so far."""
        users, items = sweep.users, sweep.items
        return cls(
            mean,
            _table_of(users),
            _table_of(items),
            SparseBiases.of(users.own_biases()),
            SparseBiases.of(items.own_biases()),
            shared_biases=users.biases,
        )

    @classmethod
    def from_network(cls, network: MatrixFactorisation) -> RatingModel:
        """Return a network's mean, tables and biases; the tables stay the network's own."""
        users, items = network.users, network.items
        assert isinstance(users, EmbeddingTable)
        assert isinstance(items, EmbeddingTable)
        biases = [
            SparseBiases.of(np.zeros(0) if given is None else given.detach().numpy())
            for given in (network.user_biases, network.item_biases)
        ]
        return cls(float(network.mean), users, items, biases[0], biases[1])

    def rate(self, users: Int[np.ndarray, " n"], items: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return one rating per pair; the number -1 stands for a user or an item that is not known."""
        ratings = np.full(len(users), self.mean)
        for number in range(max(num_blocks(len(users)), self.least_blocks)):
            block = slice(number * PAIRS_AT_ONCE, (number + 1) * PAIRS_AT_ONCE)
            user_vectors, user_biases = self._side(self.users, self.user_biases, users[block])
            item_vectors, item_biases = self._side(self.items, self.item_biases, items[block])
            ratings[block] += user_biases + item_biases
            ratings[block] += np.sum(user_vectors * item_vectors, axis=1)
        return ratings

    def _side(self, table: EmbeddingTable, biases: SparseBiases, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return vectors and biases of these rows, zeros for -1."""
        known = torch.from_numpy(np.maximum(ids, 0))
        with torch.no_grad():
            vectors = table(known).cpu().numpy()
        vectors[ids < 0] = 0
        total = biases.dense(table.num_embeddings)[np.maximum(ids, 0)]
        total[ids < 0] = 0
        if not self.shared_biases:
            return vectors, total
        return vectors[:, :-1], total + vectors[:, -1]

    def item_scores(self) -> Float[np.ndarray, " M"]:
        """Return by how much the average user's rating of each item is above the mean."""
        every_user = np.arange(self.users.num_embeddings)
        every_item = np.arange(self.items.num_embeddings)
        user_vectors, user_biases = self._side(self.users, self.user_biases, every_user)
        item_vectors, item_biases = self._side(self.items, self.item_biases, every_item)
        scores: np.ndarray = item_vectors @ user_vectors.mean(axis=0) + item_biases + user_biases.mean()
        return scores

    def item_vectors(self) -> Float[np.ndarray, "M D"]:
        """Return the vectors of all items, without what is part of their biases."""
        vectors, _ = self._side(self.items, self.item_biases, np.arange(self.items.num_embeddings))
        return vectors

    def num_values(self) -> int:
        """Return how many numbers are stored, biases and the mean included."""
        biases = len(self.user_biases.values) + len(self.item_biases.values)
        return 1 + self.users.num_values() + self.items.num_values() + biases

    def stored(self) -> dict[str, np.ndarray]:
        """Return the arrays of an artifact."""
        arrays = {"mean": np.array([self.mean])}
        for side, table, biases in self._sides():
            arrays |= {f"{side}.{name}": array for name, array in table.stored().items()}
            if len(biases.rows):
                arrays |= {f"{side}_bias_rows": biases.rows, f"{side}_biases": biases.values}
        return arrays

    def configs(self) -> dict[str, JSON]:
        """Return the shapes of both tables."""
        configs: dict[str, JSON] = {side: table.config() for side, table, _ in self._sides()}
        return {**configs, "shared_biases": self.shared_biases}

    def _sides(self) -> list[tuple[str, EmbeddingTable, SparseBiases]]:
        return [("users", self.users, self.user_biases), ("items", self.items, self.item_biases)]

    @classmethod
    def restored(
        cls, method: str, configs: JSON, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
    ) -> RatingModel:
        """Return the model of an artifact, checked against the numbers of users and items."""
        shared_biases = configs.get("shared_biases") if isinstance(configs, dict) else None
        if not isinstance(configs, dict) or not isinstance(shared_biases, bool):
            raise ValueError(f"tables must describe users, items and shared_biases, got {configs}")
        mean = float(check_array(arrays, "mean", np.float64, (1,))[0])
        parts: dict[str, Any] = {}
        for side, size in sizes.items():
            config = configs.get(side)
            if not isinstance(config, dict) or config.get("num_embeddings") != size:
                raise ValueError(f"tables must have a row for each of the {size} {side}, got {config}")
            arguments: dict[str, Any] = dict(config)
            table = find_table(method)(**arguments)
            prefix = f"{side}."
            table.restore(
                {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            )
            parts[side] = table.eval()
            parts[f"{side}_biases"] = _restored_biases(arrays, side, size)
        biases = parts["users_biases"], parts["items_biases"]
        return cls(mean, parts["users"], parts["items"], *biases, shared_biases=shared_biases)


def _restored_biases(arrays: Mapping[str, np.ndarray], side: str, size: int) -> SparseBiases:
    if not {f"{side}_bias_rows", f"{side}_biases"} & set(arrays):
        return SparseBiases.of(np.zeros(0))
    rows = check_array(arrays, f"{side}_bias_rows", np.int32, (None,))
    if len(rows) and (rows[0] < 0 or rows[-1] >= size or (np.diff(rows) <= 0).any()):
        raise ValueError(f"{side}_bias_rows must rise from 0 to at most {size - 1}, got {rows[:5].tolist()} …")
    return SparseBiases(rows, check_array(arrays, f"{side}_biases", np.float32, (len(rows),)))


def _table_of(side: Side) -> AnchorEmbedding:
    return AnchorEmbedding.from_codes(side.anchors[: side.num_anchors], side.transform())
