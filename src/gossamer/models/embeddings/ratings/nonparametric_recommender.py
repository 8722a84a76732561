"""NBANT for ratings: anchors of users and items whose number is learned in the one run that learns the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import derive_seed, numpy_generator
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.data.batching import Batches
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.explain import item_clusters
from gossamer.models.embeddings.nonparametric import AnchorCount, AnchorSet, NonparametricStep
from gossamer.models.embeddings.objective import check_lambdas, objective
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.ratings.als_step import AnchorSweep, whole_data
from gossamer.models.embeddings.ratings.fitted_ratings import FittedRatings, ratings_of
from gossamer.models.embeddings.ratings.rating_model import RatingModel
from gossamer.models.embeddings.ratings.rating_training import RatingLoss
from gossamer.models.embeddings.switching import SwitchedSide, SwitchedTable
from gossamer.networks.matrix_factorisation import MatrixFactorisation
from gossamer.persistence import JSON

if TYPE_CHECKING:
    from gossamer.training.step import Step

ALS_SLOTS = 20
RATE_DECAY = 0.85  # of the learning rate, per epoch

Plan = tuple[NonparametricStep, Batches[Any], Callable[[], RatingModel]]


class GivenNumbersStep(NonparametricStep):
    """A step that measures objective (6) and leaves every table the number of anchors it has."""

    def __call__(self, batch: Any, weight: float) -> Mapping[str, float | Tensor]:
        """Make one update."""
        return self.step(batch, weight)


class NonparametricRecommender(FittedRatings):
    """Predicts ratings as μ + p_u·q_i from anchors whose number follows objective (6) (NBANT, algorithm 2).

    The objective is mse + λ₂·‖T‖₀ + (λ₁ − λ₂)·K on the validation ratings, both tables together (on the training data
    where there are none). It is measured after every epoch: while it falls over `window` epochs both tables get
    `change` anchors more, while it rises as many fewer, from `initial_anchors` to at most `max_anchors`. With a
    negative `change` it is the other way round: anchors go while that pays, and never are more than at first. This is
    less easily misled, because the objective of a model in training falls whatever its anchors. With `change=0` their
    number stays; only then may `initial_anchors` be two numbers, of users and of items, as at a point of figure 6. The
    epoch with the lowest objective is kept, and the objective's trace is in `history_`.

    `solver="als"` makes a sweep of exact fits per epoch, with an L0 charge of λ₂ per entry and rating. "proximal" is
    the paper's: an epoch of proximal Adam steps with λ₂ as the L1 weight (or `l1`: entries of T are not of size one,
    so the same number weighs differently in L0 and L1).
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "mse",
        {
            "embedding_dim": Integer(4, 32, log=True),
            "lambda1": Real(0.00005, 0.005, log=True),
            "lambda2": Real(5e-7, 5e-5, log=True),
        },
    )

    def __init__(
        self,
        *,
        lambda1: float = 5e-4,
        lambda2: float = 5e-6,
        initial_anchors: int | Sequence[int] = 40,
        max_anchors: int = 60,
        change: int = -4,
        window: int = 3,
        embedding_dim: int = 16,
        solver: str = "als",
        epochs: int = 18,
        patience: int | None = 3,
        l1: float | None = None,
        learning_rate: float = 0.05,
        batch_size: int = 8192,
        random_state: int | None = 0,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.initial_anchors = initial_anchors
        self.max_anchors = max_anchors
        self.change = change
        self.window = window
        self.embedding_dim = embedding_dim
        self.solver = solver
        self.epochs = epochs
        self.patience = patience
        self.l1 = l1
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(
        self,
        data: Interactions,
        validation: HeldOut | None = None,
        *,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Learn anchors and their number; a run that finds its `checkpoint` goes on from there."""
        from gossamer.training.loop import fit as train

        self._check_arguments()
        ratings = ratings_of(data)
        judged = HeldOut(data, data) if validation is None else validation
        self.users_, self.items_ = data.users, data.items
        seed = int(numpy_generator(self.random_state).integers(2**31))
        prepare = self._alternating if self.solver == "als" else self._by_gradient
        step, batches, present_model = prepare(ratings, *self._first_anchors(ratings.shape), seed)

        def validate() -> Mapping[str, float]:
            self.model_ = present_model()
            errors = super(NonparametricRecommender, self).evaluate(judged)
            return {**errors, **step.measure(errors["mse"])}

        history = train(
            step,
            batches,
            epochs=self.epochs,
            validate=validate,
            monitor="objective",
            patience=self.patience,
            checkpoint=checkpoint,
            log=log,
            description="NBANT",
        )
        self.model_ = present_model()
        for table in (self.model_.users, self.model_.items):
            table.finish()
        self.history_ = history.as_dict()
        return self

    def _first_anchors(self, shape: tuple[int, int]) -> tuple[AnchorCount, tuple[int, int]]:
        """Return the count that the tables follow, and how many anchors users and items begin with."""
        if isinstance(self.initial_anchors, Sequence):
            users, items = (min(wanted, size) for wanted, size in zip(self.initial_anchors, shape, strict=True))
            most = first = max(users, items)
        else:
            most = min(self.max_anchors if self.change > 0 else self.initial_anchors, *shape)
            users = items = first = min(self.initial_anchors, most)
        return AnchorCount(first, change=self.change, window=self.window, at_most=most), (users, items)

    def _alternating(self, ratings: sparse.csr_array, count: AnchorCount, first: tuple[int, int], seed: int) -> Plan:
        mean = float(ratings.data.mean(dtype=np.float64))
        centred = (ratings.data - mean).astype(np.float32)
        sweep = AnchorSweep(
            sparse.csr_array((centred, ratings.indices, ratings.indptr), shape=ratings.shape),
            embedding_dim=self.embedding_dim,
            user_anchors=first[0],
            item_anchors=first[1],
            num_slots=ALS_SLOTS,
            biases=False,
            charge=self.lambda2 * ratings.nnz,  # the solver's loss is a sum
            budget=None,
            random_state=seed,
        )
        sides = [
            SwitchedSide(sweep, sweep.users, sweep.items, ALS_SLOTS),
            SwitchedSide(sweep, sweep.items, sweep.users, ALS_SLOTS),
        ]
        return self._step(sweep, sides, count), whole_data(), lambda: RatingModel.from_sweep(mean, sweep)

    def _by_gradient(self, ratings: sparse.csr_array, count: AnchorCount, first: tuple[int, int], seed: int) -> Plan:
        from gossamer.training.devices import process_count
        from gossamer.training.step import GradientStep

        most = (count.at_most, count.at_most) if self.change > 0 else first
        users, items = (
            AnchorEmbedding(
                ratings.shape[side],
                self.embedding_dim,
                most[side],
                num_slots=most[side],
                sparse=False,  # large batches touch most rows
                random_state=derive_seed(seed, "table", side),
            )
            for side in (0, 1)
        )
        network = MatrixFactorisation(users, items, mean=float(ratings.data.mean(dtype=np.float64)))
        module = RatingLoss(network, l2=0.0, num_ratings=ratings.nnz)
        l1 = self.lambda2 if self.l1 is None else self.l1
        optimiser = make_optimiser(module, kind="adam", learning_rate=self.learning_rate, l1=l1, regrow_every=None)
        pairs = np.repeat(np.arange(ratings.shape[0]), np.diff(ratings.indptr)), ratings.indices.astype(np.int64)
        columns = [torch.from_numpy(np.array(column)) for column in (*pairs, ratings.data.astype(np.float32))]
        batches = Batches(
            lambda rows: [column[torch.from_numpy(rows)] for column in columns],
            ratings.nnz,
            self.batch_size,
            random_state=derive_seed(seed, "batches"),
        )
        length = batches.count(process_count())
        inner = GradientStep(
            module,
            _loss,
            optimiser,
            scheduler=LambdaLR(optimiser, lambda update: RATE_DECAY ** (update // length)),
            random_state=seed,
        )
        switched = [SwitchedTable(users, first[0]), SwitchedTable(items, first[1])]
        return self._step(inner, switched, count), batches, lambda: RatingModel.from_network(network)

    def _step(self, inner: Step, anchor_sets: Sequence[AnchorSet], count: AnchorCount) -> NonparametricStep:
        kind = GivenNumbersStep if isinstance(self.initial_anchors, Sequence) else NonparametricStep
        return kind(inner, anchor_sets, count, lambda1=self.lambda1, lambda2=self.lambda2)

    def _check_arguments(self) -> None:
        check_lambdas(self.lambda1, self.lambda2)
        check_int("max_anchors", self.max_anchors, at_least=self._check_initial_anchors())
        check_int("change", self.change)
        if isinstance(self.initial_anchors, Sequence) and self.change != 0:
            raise ValueError(f"change must be 0 where initial_anchors are two numbers, got {self.change}")
        check_int("window", self.window, at_least=2)
        check_int("embedding_dim", self.embedding_dim, at_least=1)
        check_choice("solver", self.solver, ["als", "proximal"])
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        if self.l1 is not None:
            check_real("l1", self.l1, at_least=0)
        check_real("learning_rate", self.learning_rate, above=0)
        check_int("batch_size", self.batch_size, at_least=1)

    def _check_initial_anchors(self) -> int:
        """Return the larger number, checked."""
        given = self.initial_anchors
        if not isinstance(given, list | tuple):
            return check_int("initial_anchors", given, at_least=1)
        if len(given) != 2:
            raise ValueError(f"initial_anchors must be one number or two, of users and of items, got {given!r}")
        return max(check_int(f"initial_anchors[{side}]", number, at_least=1) for side, number in enumerate(given))

    def evaluate(self, data: HeldOut) -> dict[str, float]:
        """Return mse and mae over the target ratings, objective (6) with this mse, and nnz(T) and K of both tables."""
        errors = super().evaluate(data)
        nnz, num_anchors = self._count()
        value = objective(errors["mse"], nnz, num_anchors, self.lambda1, self.lambda2)
        return {**errors, "objective": value, "nnz": nnz, "num_anchors": num_anchors}

    def _count(self) -> tuple[int, int]:
        tables = [table for table in (self.model_.users, self.model_.items) if isinstance(table, AnchorEmbedding)]
        return sum(table.nnz() for table in tables), sum(table.num_active for table in tables)

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the last epochs of the objective's trace, and the items that use each anchor most."""
        check_int("n", n, at_least=1)
        check_is_fitted(self, "model_")
        assert isinstance(self.history_, dict)
        assert isinstance(self.model_.items, AnchorEmbedding)
        epochs: Any = self.history_["epochs"]
        shown = ("epoch", "objective", "mse", "nnz", "num_anchors")
        tables = {"number of anchors": [{name: epoch[name] for name in shown} for epoch in epochs[-n:]]}
        clusters = item_clusters(self.model_.items, self.items_, n)
        return tables | ({"items of each anchor": clusters} if clusters else {})

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        self._check_arguments()
        self._take_back("ant", arrays, vocabularies, metadata)


def _loss(module: Any, batch: list[Tensor], generator: torch.Generator) -> Tensor:  # noqa: ARG001 (nothing random)
    loss: Tensor = module(*batch)
    return loss
