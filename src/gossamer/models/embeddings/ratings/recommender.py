"""Ratings from two compressed tables: ANT by a closed-form solver or the paper's, and every rival by gradients."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse

from gossamer.core.checks import check_bool, check_choice, check_int, check_real
from gossamer.core.randomness import derive_seed, numpy_generator
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.explain import item_clusters
from gossamer.models.embeddings.ratings.als_step import AnchorSweep, whole_data
from gossamer.models.embeddings.ratings.fitted_ratings import FittedRatings, ratings_of
from gossamer.models.embeddings.ratings.rating_model import RatingModel, num_blocks
from gossamer.models.embeddings.ratings.rating_training import train_ratings
from gossamer.models.embeddings.sharded import ShardedAnchorEmbedding
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.tables import TABLES, find_table, make_table
from gossamer.networks.matrix_factorisation import MatrixFactorisation
from gossamer.persistence import JSON

if TYPE_CHECKING:
    from gossamer.training.history import History
    from gossamer.training.sharing import Sharing

SOLVERS = ("als", "proximal")
ALS_SLOTS = 16
GATHERS = ("all", "first")  # which processes hold the whole table when a divided one is trained


class AnchorRecommender(FittedRatings):
    """Predicts ratings as μ + p_u·q_i (+ b_u + b_i), the vectors taken from compressed tables (ANT, appendix J.3).

    `solver="als"` (for `method="ant"`) alternates exact fits for `epochs` sweeps: sparse codes under an L0 `charge`, by
    which an entry must lower the squared error, and anchors by least squares; priors and noise are learned. With a
    `budget` the charge rises until `num_values()` is within it. `solver="proximal"` is the paper's: gradient steps of
    proximal Yogi with `l1` on T, stopped after `patience` epochs without a lower validation mse. It trains any `method`
    of `TABLES` at a compression `ratio` (or a `budget`); `l2` penalises the vectors looked up, for all methods alike.
    With it `table_options={"sharded": True}` divides the rows of T of "ant" among the processes of torchrun.

    `biases` are stored and counted: by "als" only where they are worth the charge (anchors carry a bias coordinate as
    well), by "proximal" one per user and item. Unknown users and items get what is known: the mean and other's bias.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "mse",
        {
            "embedding_dim": Integer(4, 32, log=True),
            "user_anchors": Integer(10, 120, log=True),
            "item_anchors": Integer(5, 60, log=True),
            "charge": Real(0.05, 5, log=True),
        },
    )

    def __init__(
        self,
        *,
        embedding_dim: int = 16,
        method: str = "ant",
        solver: str = "als",
        user_anchors: int = 60,
        item_anchors: int = 30,
        num_slots: int | None = None,
        charge: float = 0.5,
        budget: int | None = None,
        ratio: float | None = None,
        table_options: dict[str, Any] | None = None,
        biases: bool = False,
        l1: float = 1e-4,
        l2: float = 0.0,
        epochs: int = 16,
        patience: int | None = 3,
        learning_rate: float = 0.01,
        eps: float = 1e-3,
        batch_size: int = 1024,
        random_state: int | None = 0,
    ) -> None:
        self.embedding_dim = embedding_dim
        self.method = method
        self.solver = solver
        self.user_anchors = user_anchors
        self.item_anchors = item_anchors
        self.num_slots = num_slots
        self.charge = charge
        self.budget = budget
        self.ratio = ratio
        self.table_options = table_options
        self.biases = biases
        self.l1 = l1
        self.l2 = l2
        self.epochs = epochs
        self.patience = patience
        self.learning_rate = learning_rate
        self.eps = eps
        self.batch_size = batch_size
        self.random_state = random_state

    @property
    def learns_from_shares(self) -> bool:
        """Whether ratings that processes have divided among them will do."""
        return self.solver == "proximal"

    def fit(
        self,
        data: Interactions | Share[Interactions],
        validation: HeldOut | Share[HeldOut] | None = None,
        *,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Learn from ratings; a run that finds its `checkpoint` goes on from there.

        Shares, which `solver="proximal"` takes, have the users of all processes, with or without ratings.
        """
        from gossamer.training.sharing import rows_of

        self._check_arguments()
        self.holds_model_ = True
        held, sharing = rows_of(data)
        watched, watching = rows_of(validation)
        ratings = ratings_of(held)
        for name, ids in (("users", held.users), ("items", held.items)):
            sharing.check_same(name, ids)
        seed = int(numpy_generator(self.random_state).integers(2**31))
        self.users_, self.items_ = held.users, held.items
        if self.solver == "als":
            if sharing.is_divided or watching.is_divided:
                raise ValueError("solver must be 'proximal' where processes divide the ratings, got 'als'")
            history = self._fit_alternating(ratings, watched, seed, checkpoint, log)
        else:
            history = self._fit_by_gradient(ratings, watched, seed, checkpoint, log, sharing, watching)
        self.history_ = history.as_dict()
        return self

    def _fit_alternating(
        self,
        ratings: sparse.csr_array,
        validation: HeldOut | None,
        seed: int,
        checkpoint: Path | None,
        log: Path | None,
    ) -> History:
        from gossamer.training.loop import fit as train

        mean = float(ratings.data.mean(dtype=np.float64))
        centred = (ratings.data - mean).astype(np.float32)
        step = AnchorSweep(
            sparse.csr_array((centred, ratings.indices, ratings.indptr), shape=ratings.shape),
            embedding_dim=self.embedding_dim,
            user_anchors=min(self.user_anchors, ratings.shape[0]),
            item_anchors=min(self.item_anchors, ratings.shape[1]),
            num_slots=self.num_slots or ALS_SLOTS,
            biases=self.biases,
            charge=self.charge,
            budget=self.budget,
            random_state=seed,
        )

        def validate() -> Mapping[str, float]:
            assert validation is not None
            self.model_ = RatingModel.from_sweep(mean, step)
            return self.evaluate(validation)

        # All sweeps are made, none is chosen: early ones err less because they are still above their final size.
        history = train(
            step,
            whole_data(),
            epochs=self.epochs,
            validate=None if validation is None else validate,
            monitor="loss" if validation is None else "mse",
            restore_best=False,
            checkpoint=checkpoint,
            log=log,
            description="anchored ALS",
        )
        self.model_ = RatingModel.from_sweep(mean, step)
        return history

    def _fit_by_gradient(
        self,
        ratings: sparse.csr_array,
        validation: HeldOut | None,
        seed: int,
        checkpoint: Path | None,
        log: Path | None,
        sharing: Sharing,
        watching: Sharing,
    ) -> History:
        tables = [self._make_table(side, ratings, seed, sharing) for side in (0, 1)]
        mean = float(sharing.mean_array(ratings.data.mean(dtype=np.float64, keepdims=True), ratings.nnz)[0])
        network = MatrixFactorisation(tables[0], tables[1], mean=mean, biases=self.biases)
        self.model_ = RatingModel.from_network(network)

        def validate() -> Mapping[str, float]:
            assert validation is not None
            network.eval()
            self.model_ = RatingModel.from_network(network)
            num_targets = validation.target.nnz
            self.model_.least_blocks = int(watching.max(np.array([num_blocks(num_targets)]))[0])
            if num_targets == 0:  # others may look vectors up, and need this process for it
                self.model_.rate(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
            return watching.measure(self.evaluate, validation, num_targets)

        history = train_ratings(
            network,
            np.repeat(np.arange(ratings.shape[0]), np.diff(ratings.indptr)),
            ratings.indices,
            ratings.data,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            eps=self.eps,
            l1=self.l1,
            l2=self.l2,
            random_state=seed,
            sharing=sharing,
            validate=None if validation is None else validate,
            patience=self.patience,
            checkpoint=checkpoint,
            log=log,
            only_first=self._gathers_on_first(),
        )
        if isinstance(network.users, ShardedAnchorEmbedding):  # gathered on process 0 alone, which this is not
            self.holds_model_ = False
            del self.model_
            return history
        self.model_ = RatingModel.from_network(network)
        if find_table(self.method).is_post_hoc:
            self.model_.users = self._compress(self.model_.users, ratings.shape, seed)
            self.model_.items = self._compress(self.model_.items, ratings.shape, seed)
        return history

    def _gathers_on_first(self) -> bool:
        """Say whether the table that processes have divided is put together on process 0 alone."""
        gather = (self.table_options or {}).get("gather", GATHERS[0])
        if check_choice("gather", gather, GATHERS) != GATHERS[0] and not (self.table_options or {}).get("sharded"):
            raise ValueError(f"gather must be left out where sharded is not true, got {gather!r}")
        return bool(gather != GATHERS[0])

    def _make_table(self, side: int, ratings: sparse.csr_array, seed: int, sharing: Sharing) -> EmbeddingTable:
        """Return a new table of users (side 0) or items (1); post-hoc methods train a dense one."""
        random_state = derive_seed(seed, "table", side)
        method = "dense" if find_table(self.method).is_post_hoc else self.method
        options: dict[str, Any] = {"random_state": random_state}
        if method == "ant":
            anchors = (self.user_anchors, self.item_anchors)[side]
            options |= {"num_anchors": min(anchors, ratings.shape[side]), "num_slots": self.num_slots}
            options |= self.table_options or {}
            options.pop("gather", None)
            if check_bool("sharded", options.pop("sharded", False)):
                from gossamer.training.devices import make_fabric

                make_fabric()  # the table must know all processes when it is made
                return ShardedAnchorEmbedding(ratings.shape[side], self.embedding_dim, **options)
        elif method != "dense":
            options |= self._size(ratings.shape)
        counts = np.diff(ratings.indptr) if side == 0 else np.bincount(ratings.indices, minlength=ratings.shape[1])
        return make_table(method, ratings.shape[side], self.embedding_dim, counts=sharing.sum(counts), **options)

    def _compress(self, table: EmbeddingTable, shape: tuple[int, int], seed: int) -> EmbeddingTable:
        return find_table(self.method).from_pretrained(table.weight, random_state=seed, **self._size(shape))

    def _size(self, shape: tuple[int, int]) -> dict[str, Any]:
        """Return `ratio`, or what `budget` makes of it, and further options."""
        options = dict(self.table_options or {})
        if self.ratio is not None:
            options["ratio"] = self.ratio
        if self.budget is not None:
            left = self.budget - 1 - (sum(shape) if self.biases else 0)
            check_int("budget", self.budget, at_least=self.budget - left + 1)
            options["ratio"] = sum(shape) * self.embedding_dim / left
        return options

    def _check_arguments(self) -> None:
        check_int("embedding_dim", self.embedding_dim, at_least=1)
        check_choice("method", self.method, TABLES)
        check_choice("solver", self.solver, SOLVERS)
        if self.solver == "als" and self.method != "ant":
            raise ValueError(f"solver must be 'proximal' for the method {self.method!r}, got 'als'")
        check_int("user_anchors", self.user_anchors, at_least=1)
        check_int("item_anchors", self.item_anchors, at_least=1)
        if self.num_slots is not None:
            check_int("num_slots", self.num_slots, at_least=1)
        check_real("charge", self.charge, above=0)
        if self.ratio is not None:
            check_real("ratio", self.ratio, at_least=1)
        if self.budget is not None:
            check_int("budget", self.budget, at_least=1)
            if self.ratio is not None:
                raise ValueError(f"budget must be None where ratio is {self.ratio}, got {self.budget}")
        if not isinstance(self.table_options, dict | None):
            raise ValueError(f"table_options must be None or a dict of the table's options, got {self.table_options!r}")
        check_bool("biases", self.biases)
        check_real("l1", self.l1, at_least=0)
        check_real("l2", self.l2, at_least=0)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        check_real("learning_rate", self.learning_rate, above=0)
        check_real("eps", self.eps, above=0)
        check_int("batch_size", self.batch_size, at_least=1)

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the items rated highest and lowest on average, and for anchors the items that use each most."""
        self._check_model()
        check_int("n", n, at_least=1)
        score = self.model_.item_scores()
        order = np.argsort(score, kind="stable")
        tables: dict[str, Any] = {
            name: [{"item": self.items_[item], "above the mean": float(score[item])} for item in chosen]
            for name, chosen in (("liked by most", order[::-1][:n]), ("liked by few", order[:n]))
        }
        if isinstance(self.model_.items, AnchorEmbedding):
            clusters = item_clusters(self.model_.items, self.items_, n)
            if clusters:
                tables["items of each anchor"] = clusters
        return tables

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        self._check_arguments()
        self._take_back(self.method, arrays, vocabularies, metadata)
