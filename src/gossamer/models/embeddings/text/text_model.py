"""What text models share: how their table is set, how their network is trained, counted, explained and stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.data.batching import Batches
from gossamer.data.sentences import Sentences
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.text.text_pruning import Pruning
from gossamer.models.embeddings.text.text_tables import WordTable, entries_per_row, explain_table, size_report, table_of
from gossamer.models.embeddings.text.text_training import arrays_of, gradient_step, restore_network
from gossamer.persistence import JSON, Persistent

if TYPE_CHECKING:
    from gossamer.training.step import Loss


class TextModel(Persistent, BaseEstimator, ABC):
    """A network over a table of word vectors: `fit` leaves `network_`, `words_` and `history_`."""

    numbers_beside: ClassVar[int] = 0  # numbers per word that are stored beside the table and count

    network_: nn.Module
    words_: Vocabulary
    history_: JSON

    @property
    def learns_from_shares(self) -> bool:
        """Whether texts that processes have divided among them will do."""
        try:
            self._check_arguments().check_divided()
        except ValueError:
            return False
        return True

    @abstractmethod
    def _check_arguments(self) -> WordTable:
        """Return the settings of the table; it and all others are checked."""

    @abstractmethod
    def _make_network(self, table: EmbeddingTable) -> nn.Module:
        """Return the network over a table."""

    @abstractmethod
    def evaluate(self, data: Sentences) -> dict[str, float]:
        """Return named measures on held-out texts."""

    def _check_table(self) -> WordTable:
        """Return the settings of the table, checked, as are those of training."""
        settings = WordTable(
            method=self.method,
            embedding_dim=self.embedding_dim,
            ratio=self.ratio,
            num_anchors=self.num_anchors,
            num_slots=self.num_slots,
            anchor_init=self.anchor_init,
            features=self.features,
            relations=self.relations,
            options={} if self.options is None else self.options,
            random_state=self.random_state,
            numbers_beside=self.numbers_beside,
        )
        settings.check()
        numpy_generator(self.random_state)
        check_real("l1", self.l1, at_least=0)
        check_real("dropout", self.dropout, at_least=0, below=1)
        check_real("learning_rate", self.learning_rate, above=0)
        check_int("batch_size", self.batch_size, at_least=1)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        return settings

    def _train(
        self,
        objective: nn.Module,
        loss: Loss,
        batches: Batches[Any],
        validation: Sentences | Share[Sentences] | None,
        pruning: Pruning | None,
        monitor: tuple[str, str],
        checkpoint: Path | None,
        log: Path | None,
    ) -> None:
        """Train `objective`, which holds `network_`; with `patience`, go back to the best epoch by (measure, mode)."""
        from gossamer.training.devices import process_count
        from gossamer.training.loop import fit as train
        from gossamer.training.sharing import rows_of

        step = gradient_step(
            objective,
            loss,
            learning_rate=self.learning_rate,
            l1=self.l1,
            num_updates=self.epochs * batches.count(process_count()),
            pruning=pruning,
            random_state=self.random_state,
        )
        watched, watching = rows_of(validation if self.patience is not None else None)
        measure, mode = ("loss", "min") if watched is None else monitor
        history = train(
            step,
            batches,
            epochs=self.epochs,
            validate=None if watched is None else lambda: watching.measure(self.evaluate, watched, len(watched)),
            monitor=measure,
            mode=mode,
            patience=None if watched is None else self.patience,
            checkpoint=checkpoint,
            log=log,
            description="text model",
        )
        self.history_ = history.as_dict()

    def num_values(self) -> int:
        """Return how many numbers the word vectors take, an output bias included; the layers are the same for all."""
        check_is_fitted(self, "network_")
        return table_of(self.network_).num_values() + self.numbers_beside * len(self.words_)

    def num_bytes(self) -> int:
        """Return the bytes of the word vectors, indices and an output bias included."""
        check_is_fitted(self, "network_")
        return table_of(self.network_).nbytes() + 4 * self.numbers_beside * len(self.words_)

    def size_report(self) -> dict[str, float]:
        """Return the word vectors' size beside that of a dense table."""
        check_is_fitted(self, "network_")
        return size_report(table_of(self.network_))

    def entries_per_row(self) -> dict[str, Int[np.ndarray, " V"]]:
        """Return how many anchors each word is made of, by "words"; nothing for methods without anchors."""
        check_is_fitted(self, "network_")
        return entries_per_row(table_of(self.network_))

    def item_vectors(self) -> Float[np.ndarray, "M D"]:
        """Return the vectors of the words, whatever the table is made of."""
        check_is_fitted(self, "network_")
        return table_of(self.network_).weight.cpu().numpy()

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the words with the longest vectors and, for anchors, which words they induce (table 4)."""
        check_is_fitted(self, "network_")
        return explain_table(table_of(self.network_), self.words_, n)

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return what the table stores, and the weights of the network."""
        check_is_fitted(self, "network_")
        return arrays_of(self.network_)

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history, and how the table is built."""
        check_is_fitted(self, "network_")
        table = table_of(self.network_)
        return {"history": self.history_, "method": table.method, "table": table.config()}

    def _take_back(self, arrays: Mapping[str, np.ndarray], words: Vocabulary, metadata: Mapping[str, JSON]) -> None:
        """Set the learned state that all text models have from an artifact, checked."""
        self.words_ = words
        self.network_ = restore_network(self._make_network, metadata["method"], metadata["table"], arrays, len(words))
        self.history_ = metadata["history"]


def check_sentences(data: Any) -> Sentences:
    """Return `data`, or say that it is not Sentences."""
    if not isinstance(data, Sentences):
        raise ValueError(f"data must be Sentences, got {type(data).__name__}")
    return data
