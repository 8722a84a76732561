"""LightGCN: embeddings of users and items, smoothed over the graph; the usual graph recommender, and a rival."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.core.topk import top_n
from gossamer.data.batching import Batches
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community.propagation import normalised_graph, propagate
from gossamer.models.item_ranker import ItemRanker, check_held_out, values_of
from gossamer.models.stored_network import seeded_weights
from gossamer.persistence import JSON, check_array, check_names

FIRST_RANGE = 0.1


class SmoothedTables(nn.Module):
    """Tables of users and items; a batch of users in, the softmax loss of their items out."""

    def __init__(self, matrix: sparse.csr_array, width: int, num_layers: int) -> None:
        super().__init__()
        self.users = nn.Parameter(FIRST_RANGE * torch.randn(matrix.shape[0], width))
        self.items = nn.Parameter(FIRST_RANGE * torch.randn(matrix.shape[1], width))
        self.matrix, self.num_layers = matrix, num_layers
        self.graph, self.transposed = normalised_graph(matrix)

    def layers(self) -> tuple[list[Tensor], list[Tensor]]:
        """Return the embeddings of all layers."""
        return propagate(self.users, self.items, self.graph, self.transposed, self.num_layers)

    def forward(self, rows: Tensor) -> Tensor:
        """Return the mean over the batch's interactions of −log softmax of the item among all items."""
        user_layers, item_layers = self.layers()
        users = torch.stack([layer[rows] for layer in user_layers]).mean(dim=0)
        items = torch.stack(item_layers).mean(dim=0)
        log_probs = torch.log_softmax(users @ items.T, dim=1)
        chosen = self.matrix[rows.numpy()].tocoo()
        return -log_probs[
            torch.from_numpy(chosen.row.astype(np.int64)), torch.from_numpy(chosen.col.astype(np.int64))
        ].mean()


class LightGCN(ItemRanker):
    """Scores ⟨e_u, e_i⟩ with e the mean of `num_layers` + 1 layers of smoothing (He et al. 2020).

    The loss is the softmax over all items rather than BPR, which learns the same order faster where the catalogue fits.
    Users of the training data are found by their ids; of others, the first layer is unknown and left out. With
    validation data, the epoch with the best NDCG@100 is kept.

    Reference: He, Deng, Wang, Li, Zhang, Wang, "LightGCN", 2020.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "ndcg@100",
        {
            "embedding_dim": Integer(16, 128, log=True),
            "num_layers": Integer(1, 4),
            "learning_rate": Real(0.001, 0.05, log=True),
            "weight_decay": Real(1e-8, 1e-3, log=True),
        },
    )

    def __init__(
        self,
        *,
        embedding_dim: int = 64,
        num_layers: int = 2,
        learning_rate: float = 0.01,
        weight_decay: float = 1e-6,
        batch_size: int = 512,
        epochs: int = 30,
        patience: int | None = 4,
        random_state: int | None = 0,
    ) -> None:
        self.embedding_dim = embedding_dim
        self.num_layers = num_layers
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        data: Interactions,
        validation: HeldOut | None = None,
        *,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Learn the tables; a run that finds its `checkpoint` goes on from there."""
        from gossamer.training.loop import fit as train
        from gossamer.training.step import GradientStep

        self._check_arguments()
        matrix = values_of(data, False)
        if validation is not None:
            check_held_out("validation", validation)
        self._remember_items(data, matrix)
        self.users_ = data.users
        with seeded_weights(self.random_state):
            tables = SmoothedTables(matrix, self.embedding_dim, self.num_layers)
        active = np.flatnonzero(np.diff(matrix.indptr))

        def validate() -> dict[str, float]:
            assert validation is not None
            self._keep(tables)
            return self.evaluate(validation)

        optimiser = torch.optim.Adam(tables.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        history = train(
            GradientStep(tables, lambda prepared, rows, _: prepared(rows), optimiser, random_state=self.random_state),
            Batches(
                lambda rows: torch.from_numpy(active[rows]),
                len(active),
                self.batch_size,
                random_state=self.random_state,
            ),
            epochs=self.epochs,
            validate=None if validation is None else validate,
            monitor="loss" if validation is None else "ndcg@100",
            mode="min" if validation is None else "max",
            patience=None if validation is None else self.patience,
            checkpoint=checkpoint,
            log=log,
            description="LightGCN",
        )
        self._keep(tables)
        self.history_: JSON = history.as_dict()
        return self

    def _check_arguments(self) -> None:
        check_int("embedding_dim", self.embedding_dim, at_least=1)
        check_int("num_layers", self.num_layers, at_least=1)
        check_real("learning_rate", self.learning_rate, above=0)
        check_real("weight_decay", self.weight_decay, at_least=0)
        check_int("batch_size", self.batch_size, at_least=1)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        numpy_generator(self.random_state)

    @torch.no_grad()
    def _keep(self, tables: SmoothedTables) -> None:
        """Keep what answers need: items smoothed, what a history adds per item, and users' own first layer."""
        _, item_layers = tables.layers()
        count = self.num_layers + 1
        sizes = torch.from_numpy(np.sqrt(np.maximum(self.popularity_, 1)))
        self.item_vectors_ = torch.stack(item_layers).mean(dim=0).numpy()
        self.neighbour_vectors_ = (torch.stack(item_layers[:-1]).sum(dim=0) / count / sizes[:, None]).numpy()
        self.user_vectors_ = (tables.users / count).numpy().copy()

    def embed(self, history: Interactions) -> Float[np.ndarray, "B D"]:
        """Return the embeddings of users from their items and, where they were trained, from their own."""
        check_is_fitted(self, "items_")
        known = history.aligned_to(self.items_)
        sizes = np.sqrt(np.maximum(known.user_counts, 1)).astype(np.float32)
        vectors: np.ndarray = (known.matrix() @ self.neighbour_vectors_) / sizes[:, None]
        rows = self.users_.find(known.users.ids)
        vectors[rows >= 0] += self.user_vectors_[rows[rows >= 0]]
        return vectors.astype(np.float32)

    def _rank(self, history: Interactions, n: int, seen: sparse.csr_array | None) -> tuple[np.ndarray, np.ndarray]:
        return top_n(self.embed(history) @ self.item_vectors_.T, n, seen)

    def item_vectors(self) -> Float[np.ndarray, "M D"]:
        """Return the items' smoothed vectors."""
        check_is_fitted(self, "items_")
        return self.item_vectors_

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the n most popular items with those that are nearest to them in the smoothed space."""
        check_is_fitted(self, "items_")
        check_int("n", n, at_least=1)
        popular = np.argsort(-self.popularity_, kind="stable")[:n]
        unit = self.item_vectors_ / np.maximum(np.linalg.norm(self.item_vectors_, axis=1, keepdims=True), 1e-12)
        closeness = unit[popular] @ unit.T
        closeness[np.arange(len(popular)), popular] = -np.inf
        near, _ = top_n(closeness, 5)
        rows = [
            {"item": self.items_[int(item)], "near": ", ".join(str(self.items_[int(j)]) for j in row if j >= 0)}
            for item, row in zip(popular, near, strict=True)
        ]
        return {"items near popular ones": rows}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return popularity and the three tables."""
        names = ("item_vectors", "neighbour_vectors", "user_vectors")
        return super().learned_arrays() | {name: getattr(self, f"{name}_") for name in names}

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the vocabularies of users and items."""
        return {"items": self.items_, "users": self.users_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history."""
        check_is_fitted(self, "history_")
        return {"history": self.history_}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"items", "users"}, "vocabularies")
        self._check_arguments()
        items, users = vocabularies["items"], vocabularies["users"]
        self.popularity_ = check_array(arrays, "popularity", np.float32, (len(items),))
        for name, count in (
            ("item_vectors", len(items)),
            ("neighbour_vectors", len(items)),
            ("user_vectors", len(users)),
        ):
            setattr(self, f"{name}_", check_array(arrays, name, np.float32, (count, self.embedding_dim)))
        self.items_, self.users_ = items, users
        self.history_ = metadata["history"]
