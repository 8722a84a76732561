"""AnchorLanguageModel: the next word of a text by an LSTM whose word vectors are its output layer too (section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted
from torch import nn

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import torch_generator
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.data.parts import over_words
from gossamer.data.sentences import Sentences
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.likelihood import perplexity_per_token
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.text.lm_streams import TableStreamLoss, lane_batches
from gossamer.models.embeddings.text.text_model import TextModel, check_sentences
from gossamer.models.embeddings.text.text_tables import WordTable, table_of
from gossamer.models.embeddings.text.text_training import seeded_modules
from gossamer.networks.awd_lstm import AWDLSTM
from gossamer.networks.lstm import LSTMLanguageModel
from gossamer.networks.sampled_softmax import NegativeSampler
from gossamer.networks.word_streams import start_bias_, stream_log_probs
from gossamer.persistence import JSON, check_names

NETWORKS = ("lstm", "awd-lstm")


class AnchorLanguageModel(TextModel):
    """Predicts each word from all before it, with word vectors stored compactly and tied to the output layer.

    Sentences are read as one stream, in `batch_size` lanes and pieces of `num_steps`, the state carried on. The table's
    settings are those of `AnchorTextClassifier`; the V numbers of the output bias count: `ratio` is V·D over the
    numbers of table and bias together. `num_samples` words estimate the softmax in training (None: the full softmax);
    measures are always by the full one. `network` is "lstm" or "awd-lstm", with `dropout` on inputs, between layers
    and on outputs, and `word_dropout` on whole words.

    With validation data and `patience`, training stops when perplexity does and goes back to the best epoch; without,
    it takes all `epochs`, over which the rate falls to zero.
    """

    numbers_beside = 1  # the output bias

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "perplexity",
        {
            "embedding_dim": Integer(50, 400, log=True),
            "ratio": Real(2, 50, log=True),
            "hidden_dim": Integer(50, 400, log=True),
            "dropout": Real(0, 0.6),
            "learning_rate": Real(0.0005, 0.02, log=True),
        },
        fixed={"patience": 2},
    )

    def __init__(
        self,
        *,
        method: str = "ant",
        embedding_dim: int = 200,
        ratio: float | None = 10.0,
        num_anchors: int | None = None,
        num_slots: int | None = None,
        l1: float = 0.0,
        anchor_init: str = "codes",
        features: str = "cooccurrence",
        relations: str = "none",
        options: dict[str, Any] | None = None,
        network: str = "lstm",
        hidden_dim: int = 200,
        num_layers: int = 2,
        dropout: float = 0.2,
        word_dropout: float = 0.0,
        num_samples: int | None = 1000,
        num_steps: int = 35,
        learning_rate: float = 4e-3,
        batch_size: int = 20,
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
        self.network = network
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.num_samples = num_samples
        self.num_steps = num_steps
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
        """Train on sentences; a run that finds its `checkpoint` goes on from there.

        Shares have the same words on every process. Each process reads its sentences as a stream of its own, in as many
        of the `batch_size` lanes as its share is.
        """
        from gossamer.training.devices import process_count
        from gossamer.training.sharing import rows_of

        table_settings = self._check_arguments()
        held, sharing = rows_of(data)
        stream = _stream_of(held)
        if sharing.is_divided:
            table_settings.check_divided()
            sharing.check_same("words", held.vocabulary)
        self.words_ = held.vocabulary
        self.start_ = int(sharing.gather(stream[-1:])[-1])  # where the last process's text ends: the end of it all
        counts = sharing.sum(np.bincount(stream, minlength=len(self.words_)))
        with seeded_modules(self.random_state, "network"):
            self.network_ = self._make_network(table_settings.build(held, sharing))
        start_bias_(self.network_, counts)
        batches = lane_batches(stream, self.batch_size, self.num_steps, start=self.start_, sharing=sharing)
        num_updates = self.epochs * batches.count(process_count())
        pruning = table_settings.pruning(table_of(self.network_), held, num_updates, sharing)
        loss = TableStreamLoss(
            self.network_,
            num_lanes=len(batches.lanes.tokens),
            num_tokens=int(counts.sum()),
            sampler=None if self.num_samples is None else NegativeSampler(counts, self.num_samples),
            pruning=pruning,
        )
        self._train(
            loss,
            lambda module, batch, generator: module(*batch, generator),
            batches,
            validation,
            pruning,
            ("perplexity", "min"),
            checkpoint=checkpoint,
            log=log,
        )
        self.network_.embedding = table_settings.convert(table_of(self.network_), held, sharing)
        self.network_.eval()
        return self

    def _check_arguments(self) -> WordTable:
        check_choice("network", self.network, NETWORKS)
        check_int("hidden_dim", self.hidden_dim, at_least=1)
        check_int("num_layers", self.num_layers, at_least=1)
        check_real("word_dropout", self.word_dropout, at_least=0, below=1)
        if self.num_samples is not None:
            check_int("num_samples", self.num_samples, at_least=1)
        check_int("num_steps", self.num_steps, at_least=1)
        return self._check_table()

    def _make_network(self, table: EmbeddingTable) -> nn.Module:
        if self.network == "awd-lstm":
            return AWDLSTM(
                table,
                hidden_dim=self.hidden_dim,
                num_layers=self.num_layers,
                dropout=self.dropout,
                input_dropout=self.dropout,
                layer_dropout=self.dropout,
                word_dropout=self.word_dropout,
            )
        return LSTMLanguageModel(
            table,
            hidden_dim=self.hidden_dim,
            num_layers=self.num_layers,
            dropout=self.dropout,
            word_dropout=self.word_dropout,
        )

    def log_likelihood(self, data: Sentences) -> Float[np.ndarray, " N"]:
        """Return log p of each sentence given those before it in `data`, over the words the model knows."""
        check_is_fitted(self, "network_")
        known = over_words(check_sentences(data), self.words_)
        log_probs = stream_log_probs(self.network_, known.tokens, start=self.start_)
        sums = np.concatenate([[0.0], np.cumsum(log_probs)])
        likelihood: np.ndarray = np.diff(sums[known.offsets])
        return likelihood

    def evaluate(self, data: Sentences) -> dict[str, float]:
        """Return the perplexity: exp of the mean over all tokens of −log p, ends of sentences included."""
        likelihood = self.log_likelihood(data)
        lengths = over_words(data, self.words_).lengths
        written = lengths > 0
        if not written.any():
            raise ValueError(f"data must have at least one word the model knows, got {data!r}")
        return {"perplexity": perplexity_per_token(likelihood[written], lengths[written])}

    @torch.no_grad()
    def sample(self, n: int, *, random_state: int | None = None, max_length: int = 100) -> Sentences:
        """Return n new sentences, each begun after an end and ended by one, or after `max_length` words."""
        check_is_fitted(self, "network_")
        check_int("n", n, at_least=1)
        check_int("max_length", max_length, at_least=1)
        generator = torch_generator(random_state)
        last, state, drawn = torch.full((n, 1), self.start_), None, []
        for _ in range(max_length):
            logits, state = self.network_(last, state)
            last = torch.multinomial(logits[:, 0].softmax(dim=1), 1, generator=generator)
            drawn.append(last)
        tokens = torch.cat(drawn, dim=1).numpy()
        ended = tokens == self.start_
        lengths = np.where(ended.any(axis=1), ended.argmax(axis=1) + 1, max_length)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Sentences(tokens[np.arange(max_length) < lengths[:, None]], offsets, self.words_)

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the words."""
        return {"words": self.words_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history, how the table is built, and the word a text begins after."""
        return {**super().learned_metadata(), "start": self.start_}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"words"}, "vocabularies")
        self._check_arguments()
        words = vocabularies["words"]
        self.start_ = check_int("start", metadata["start"], at_least=0, at_most=len(words) - 1)
        self._take_back(arrays, words, metadata)


def _stream_of(data: Any) -> np.ndarray:
    stream: np.ndarray = check_sentences(data).tokens
    if len(stream) == 0:
        raise ValueError(f"data must have at least one token, got {data!r}")
    return stream
