"""AnchorTextClassifier: the class of a text by the CNN of table 5, over word vectors of any method (section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.data.parts import over_words
from gossamer.data.sentences import Sentences
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.text.text_model import TextModel, check_sentences
from gossamer.models.embeddings.text.text_pruning import Pruning
from gossamer.models.embeddings.text.text_tables import WordTable, table_of
from gossamer.models.embeddings.text.text_training import (
    pad_texts,
    seeded_modules,
)
from gossamer.networks.text_cnn import TextCNN
from gossamer.persistence import JSON, check_names

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

TEXTS_AT_ONCE = 512


class AnchorTextClassifier(TextModel):
    """Predicts the class of a text with a convolutional network whose word vectors are stored compactly.

    `method` is any table of `TABLES` ("ant": anchors and a sparse transform), made `ratio` times smaller than a dense
    one; methods that compress a trained table train a dense one first. For "ant", `num_anchors` and `num_slots` fix
    the shape, and a `ratio` beside them the size T is pruned to; `l1` is the penalty λ₂, beside the mean of
    the losses; `anchor_init` and `features` where anchors begin, and `relations` which entries of T are free of penalty
    (section 3.2). `options` go to the table.

    Words that were not in the training texts are `<unk>` where these have it, and left out otherwise; of a text the
    first `max_length` words are read. With validation data and `patience`, training stops when accuracy does and goes
    back to the best epoch; without, it takes all `epochs`, over which the rate falls to zero.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "accuracy",
        {
            "embedding_dim": Integer(32, 256, log=True),
            "ratio": Real(2, 50, log=True),
            "num_filters": Integer(25, 200, log=True),
            "dropout": Real(0.1, 0.7),
            "learning_rate": Real(0.0005, 0.01, log=True),
        },
        fixed={"patience": 2},
    )

    def __init__(
        self,
        *,
        method: str = "ant",
        embedding_dim: int = 256,
        ratio: float | None = 20.0,
        num_anchors: int | None = None,
        num_slots: int | None = None,
        l1: float = 0.0,
        anchor_init: str = "frequency",
        features: str = "cooccurrence",
        relations: str = "none",
        options: dict[str, Any] | None = None,
        num_filters: int = 100,
        dropout: float = 0.5,
        max_length: int = 100,
        learning_rate: float = 2e-3,
        batch_size: int = 256,
        epochs: int = 4,
        patience: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.method = method
        self.embedding_dim = embedding_dim
        self.ratio = ratio
        self.num_anchors = num_anchors
        self.num_slots = num_slots
        self.l1 = l1
        self.anchor_init = anchor_init
        self.features = features
        self.relations = relations
        self.options = options
        self.num_filters = num_filters
        self.dropout = dropout
        self.max_length = max_length
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        data: Sentences | Share[Sentences],
        validation: Sentences | Share[Sentences] | None = None,
        *,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Train on texts with labels; a run that finds its `checkpoint` goes on from there.

        Shares have the same words and classes on every process.
        """
        from gossamer.training.devices import process_count
        from gossamer.training.sharing import rows_of

        table_settings = self._check_arguments()
        held, sharing = rows_of(data)
        labels, self.label_names_ = _labels_of(held)
        if sharing.is_divided:
            table_settings.check_divided()
            sharing.check_same("words", held.vocabulary)
            sharing.check_same("classes", Vocabulary(self.label_names_))
        texts = _over_used_words(held, sharing)
        self.words_ = texts.vocabulary
        with seeded_modules(self.random_state, "network"):
            self.network_ = self._make_network(table_settings.build(texts, sharing))
        batches = sharing.batches(
            lambda rows: (pad_texts(texts, rows, self.max_length), labels[torch.from_numpy(rows)]),
            len(texts),
            self.batch_size,
            self.random_state,
        )
        num_updates = self.epochs * batches.count(process_count())
        pruning = table_settings.pruning(table_of(self.network_), texts, num_updates, sharing)
        self._train(
            _Classification(self.network_, pruning, sharing.num_rows(texts)),
            lambda module, batch, _: module(*batch),
            batches,
            validation,
            pruning,
            ("accuracy", "max"),
            checkpoint=checkpoint,
            log=log,
        )
        self.network_.embedding = table_settings.convert(table_of(self.network_), texts, sharing)
        self.network_.eval()
        return self

    def _check_arguments(self) -> WordTable:
        check_int("num_filters", self.num_filters, at_least=1)
        check_int("max_length", self.max_length, at_least=1)
        return self._check_table()

    def _make_network(self, table: EmbeddingTable) -> TextCNN:
        return TextCNN(table, len(self.label_names_), num_filters=self.num_filters, dropout=self.dropout)

    @torch.no_grad()
    def predict_probs(self, data: Sentences) -> Float[np.ndarray, "N classes"]:
        """Return the probability of each class for each text; an empty text has those of a text without signs."""
        check_is_fitted(self, "network_")
        known = over_words(check_sentences(data), self.words_)
        was_training = self.network_.training
        self.network_.eval()
        probs = np.empty((len(known), len(self.label_names_)), dtype=np.float32)
        order = np.argsort(known.lengths, kind="stable")  # like lengths together: less padding
        for begin in range(0, len(known), TEXTS_AT_ONCE):
            rows = order[begin : begin + TEXTS_AT_ONCE]
            probs[rows] = self.network_(pad_texts(known, rows, self.max_length)).softmax(dim=1).numpy()
        self.network_.train(was_training)
        return probs

    def predict(self, data: Sentences) -> Int[np.ndarray, " N"]:
        """Return the number of the likeliest class of each text, an index into `label_names_`."""
        likeliest: np.ndarray = self.predict_probs(data).argmax(axis=1).astype(np.int32)
        return likeliest

    def evaluate(self, data: Sentences) -> dict[str, float]:
        """Return the accuracy, and the cross-entropy in nats, over texts with labels; classes are found by name."""
        probs = self.predict_probs(data)
        labels, names = _labels_of(data)
        place = {name: number for number, name in enumerate(self.label_names_)}
        translated = np.array([place.get(name, -1) for name in names])[labels.numpy()]
        known = translated >= 0
        chances = np.zeros(len(probs))
        chances[known] = probs[known, translated[known]]
        return {
            "accuracy": float((probs.argmax(axis=1) == translated).mean()),
            "cross_entropy": float(-np.log(np.maximum(chances, 1e-30)).mean()),
        }

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the words, and the names of the classes."""
        return {"words": self.words_, "labels": Vocabulary(list(self.label_names_))}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"words", "labels"}, "vocabularies")
        self._check_arguments()
        self.label_names_ = tuple(str(name) for name in vocabularies["labels"])
        self._take_back(arrays, vocabularies["words"], metadata)


class _Classification(nn.Module):
    """The loss of a batch: cross-entropy and the table's own penalty, which is meant for the sum over an epoch."""

    def __init__(self, network: TextCNN, pruning: Pruning | None, num_examples: int) -> None:
        super().__init__()
        self.network = network
        self.pruning = pruning
        self.num_examples = num_examples

    def forward(self, tokens: Int[Tensor, "B T"], labels: Int[Tensor, " B"]) -> Float[Tensor, ""]:
        """Return the mean loss."""
        loss = functional.cross_entropy(self.network(tokens), labels)
        return loss + table_of(self.network).penalty() / self.num_examples


def _over_used_words(data: Sentences, sharing: Sharing) -> Sentences:
    """Leave words that no text has out of the vocabulary: an `<unk>` never met would be noise in every new text."""
    used = np.flatnonzero(sharing.sum(np.bincount(data.tokens, minlength=len(data.vocabulary))))
    return over_words(data, data.vocabulary.take(used)) if len(used) else data


def _labels_of(data: Any) -> tuple[Int[Tensor, " N"], tuple[str, ...]]:
    texts = check_sentences(data)
    if texts.labels is None or texts.label_names is None or len(texts) == 0:
        raise ValueError(f"data must have at least one text, and a label for each, got {texts!r}")
    return torch.from_numpy(texts.labels.astype(np.int64)), tuple(texts.label_names)
