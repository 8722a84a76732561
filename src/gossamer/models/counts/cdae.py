"""CDAE: a denoising autoencoder of histories with a vector for every user."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from jaxtyping import Float
from torch import Tensor

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.share import Share
from gossamer.models.counts.autoencoder import HIDDEN_ACTIVATIONS, CDAEObjective, DenoisingAutoencoder
from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.network import seeded_weights
from gossamer.models.counts.network_ranker import NetworkRanker

STRANGERS = ("mean", "zero", "none")


class CDAE(NetworkRanker):
    """Restores a history of which the fraction `corruption` was hidden, by one hidden layer (Wu et al. 2016).

    The paper adds a learned vector per user to the hidden layer. A user who was not in training has none, and
    all users are answered from their history alone, so the vectors matter in training only: `user_vector` says whether
    a stranger has the "mean" of all learned vectors or "zero", or whether there are "none", which leaves a plain
    denoising autoencoder. The loss is logistic, with the items taken against `num_negatives` others for each, in
    expectation (`logistic_loss`) instead of drawn; `l2` is λ of `CDAEObjective`. With validation data, the epoch with
    the best NDCG@100 is kept and training stops after `patience` epochs without a better one.

    Reference: Wu, DuBois, Zheng, Ester, "Collaborative denoising auto-encoders for top-N recommender systems", 2016.
    """

    network_: DenoisingAutoencoder

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "ndcg@100",
        {
            "hidden_dim": Integer(32, 400, log=True),
            "corruption": Real(0.1, 0.8),
            "num_negatives": Real(1, 20, log=True),
            "l2": Real(0.0001, 0.1, log=True),
            "learning_rate": Real(0.0002, 0.01, log=True),
        },
        fixed={"patience": 20},
    )

    def __init__(
        self,
        *,
        hidden_dim: int = 200,
        inputs: str = "counts",
        activation: str = "sigmoid",
        corruption: float = 0.5,
        user_vector: str = "mean",
        num_negatives: float = 5.0,
        l2: float = 0.01,
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        epochs: int = 100,
        patience: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.hidden_dim = hidden_dim
        self.inputs = inputs
        self.activation = activation
        self.corruption = corruption
        self.user_vector = user_vector
        self.num_negatives = num_negatives
        self.l2 = l2
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    @property
    def learns_from_shares(self) -> bool:
        """Whether users that processes have divided among them will do."""
        return self.user_vector == "none"

    def fit(
        self,
        data: Interactions | Share[Interactions],
        validation: HeldOut | Share[HeldOut] | None = None,
        *,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Learn to restore histories; a run that finds its `checkpoint` goes on from there."""
        from gossamer.training.optimisers import ProximalAdam
        from gossamer.training.step import GradientStep

        self._check_arguments()
        if isinstance(data, Share) and self.user_vector != "none":
            raise ValueError(f"user_vector must be 'none' where processes divide the users, got {self.user_vector!r}")
        matrix, batches = self._read_training(data)
        self.network_ = self._make_network(len(self.items_))
        objective = CDAEObjective(
            self.network_,
            matrix.shape[0],
            with_vectors=self.user_vector != "none",
            num_negatives=self.num_negatives,
            l2=self.l2,
        )
        step = GradientStep(
            objective,
            lambda module, batch, generator: module(batch, generator),
            ProximalAdam(objective.parameters(), lr=self.learning_rate),  # torch's Adam takes no row-sparse gradients
            random_state=self.random_state,
        )
        meet = objective.meet_stranger if self.user_vector == "mean" else _nothing
        self._train(step, batches, validation, checkpoint, log, before_validation=meet)
        meet()
        return self

    def _check_arguments(self) -> None:
        check_int("hidden_dim", self.hidden_dim, at_least=1)
        check_choice("activation", self.activation, HIDDEN_ACTIVATIONS)
        check_real("corruption", self.corruption, at_least=0, below=1)
        check_choice("user_vector", self.user_vector, STRANGERS)
        check_real("num_negatives", self.num_negatives, above=0)
        check_real("l2", self.l2, at_least=0)
        self._check_training()

    def _make_network(self, num_items: int) -> DenoisingAutoencoder:
        with seeded_weights(self.random_state):
            return DenoisingAutoencoder(
                num_items, self.hidden_dim, activation=self.activation, corruption=self.corruption
            )

    def _output_weights(self) -> Float[Tensor, "M H"]:
        return self.network_.output_layer.weight

    def _scores(self, batch: CountBatch) -> Float[Tensor, "B M"]:
        logits: Float[Tensor, "B M"] = self.network_(batch)  # probabilities round to 1, and their order would be lost
        return logits


def _nothing() -> None:
    """Leave a stranger's vector zero."""
