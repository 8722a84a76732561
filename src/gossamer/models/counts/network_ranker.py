"""What recommenders that are networks share: batches of histories, training, scores, explanation and artifact."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.core.topk import top_n
from gossamer.data.batching import Batches
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts.batch import CountBatch, take_batch
from gossamer.models.counts.inference import judged
from gossamer.models.counts.inputs import KINDS, InputFeatures
from gossamer.models.counts.network import network_arrays, restore_network
from gossamer.models.item_ranker import ItemRanker, check_held_out, values_of
from gossamer.persistence import JSON

if TYPE_CHECKING:
    from gossamer.training.step import Step

NUM_SPOKEN_FOR = 5


class NetworkRanker(ItemRanker):
    """Ranks items by a network that reads a history; who took how much of an item, or rated it how, does not count.

    A subclass makes its network for a number of items and says how it scores a batch of histories. Users are not
    stored: those of the training data are answered from their history, as new ones are.
    """

    inputs: str
    learning_rate: float
    batch_size: int
    epochs: int
    patience: int | None
    random_state: int | None

    features_: InputFeatures
    network_: nn.Module
    history_: JSON

    @abstractmethod
    def _check_arguments(self) -> None:
        """Name the first argument that is not what it must be."""

    @abstractmethod
    def _make_network(self, num_items: int) -> nn.Module:
        """Return a network with its first weights."""

    @abstractmethod
    def _scores(self, batch: CountBatch) -> Float[Tensor, "B M"]:
        """Return how well each item suits each history, by `network_`, without gradients and in evaluation mode."""

    @abstractmethod
    def _output_weights(self) -> Float[Tensor, "M H"]:
        """Return the last layer: what makes each item likely."""

    def _input_features(self) -> InputFeatures:
        return InputFeatures(self.inputs)

    def _check_training(self) -> None:
        """Check the arguments that all networks have."""
        check_choice("inputs", self.inputs, KINDS)
        check_real("learning_rate", self.learning_rate, above=0)
        check_int("batch_size", self.batch_size, at_least=1)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        numpy_generator(self.random_state)

    def _read_training(self, data: Interactions | Share[Interactions]) -> tuple[sparse.csr_array, Batches[CountBatch]]:
        """Remember items and features of checked data; return the histories that have items, and batches of them."""
        from gossamer.training.sharing import rows_of

        held, sharing = rows_of(data)
        matrix = values_of(held, False)
        sharing.check_same("items", held.items)
        self._remember_items(held, matrix)
        self.popularity_ = sharing.sum(self.popularity_)
        filled = np.diff(matrix.indptr) > 0
        taken = matrix if filled.all() else matrix[filled]
        self.features_ = self._input_features().fit(taken, sharing.sum)
        inputs = self.features_.values(taken)
        batches = sharing.batches(
            lambda rows: take_batch(taken, inputs, rows), taken.shape[0], self.batch_size, self.random_state
        )
        return taken, batches

    def _train(
        self,
        step: Step,
        batches: Batches[CountBatch],
        validation: HeldOut | Share[HeldOut] | None,
        checkpoint: Path | None,
        log: Path | None,
        before_validation: Callable[[], None] = lambda: None,
    ) -> None:
        """Train until the epochs are over; with validation data, keep the epoch with the best NDCG@100."""
        from gossamer.training.loop import fit as train
        from gossamer.training.sharing import rows_of

        held, sharing = rows_of(validation)
        if held is not None and not isinstance(validation, Share):  # a share may be empty
            check_held_out("validation", held)

        def validate() -> dict[str, float]:
            assert held is not None
            before_validation()
            return sharing.mean(self.evaluate(held) if held.target.nnz else None, len(held))

        history = train(
            step,
            batches,
            epochs=self.epochs,
            validate=None if validation is None else validate,
            monitor="loss" if validation is None else "ndcg@100",
            mode="min" if validation is None else "max",
            patience=None if validation is None else self.patience,
            checkpoint=checkpoint,
            log=log,
            description=type(self).__name__,
        )
        self.network_.eval()
        self.history_ = history.as_dict()

    def _rank(self, history: Interactions, n: int, seen: sparse.csr_array | None) -> tuple[np.ndarray, np.ndarray]:
        return top_n(self._score_matrix(values_of(history, False, "history")), n, seen)

    def _score_matrix(self, matrix: sparse.csr_array) -> Float[np.ndarray, "B M"]:
        batch = take_batch(matrix, self.features_.values(matrix), np.arange(matrix.shape[0]))
        device = next(self.network_.parameters()).device
        # Validation comes in the middle of training: the network goes back to the mode in which it was.
        with torch.no_grad(), judged(self.network_):
            scores: np.ndarray = self._scores(batch.to(device)).cpu().numpy()
        return scores

    def item_vectors(self) -> Float[np.ndarray, "M H"]:
        """Return the last layer of the network, a row per item."""
        check_is_fitted(self, "items_")
        return self._output_weights().detach().cpu().numpy()

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return for the n most popular items which others gain most when it is all that is known of a user."""
        check_is_fitted(self, "items_")
        check_int("n", n, at_least=1)
        popular = np.argsort(-self.popularity_, kind="stable")[:n]
        alone = sparse.csr_array(
            (np.ones(len(popular), dtype=np.float32), popular, np.arange(len(popular) + 1)),
            shape=(len(popular), len(self.items_)),
        )
        nothing = sparse.csr_array((1, len(self.items_)), dtype=np.float32)
        gain = self._score_matrix(alone) - self._score_matrix(nothing)
        others, _ = top_n(gain, NUM_SPOKEN_FOR, alone)
        table = [
            {"item": self.items_[item], "speaks for": ", ".join(str(self.items_[other]) for other in row if other >= 0)}
            for item, row in zip(popular, others, strict=True)
        ]
        return {"what popular items speak for": table}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return popularity, what the inputs are weighted with, and the network."""
        return super().learned_arrays() | self.features_.learned_arrays() | network_arrays(self.network_)

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
        super().restore(arrays, vocabularies, metadata)
        self._check_arguments()
        self.features_ = self._input_features().restore(arrays, len(self.items_))
        self.network_ = self._make_network(len(self.items_))
        restore_network(self.network_, arrays)
        self.history_ = metadata["history"]
