"""CompressedLanguageModel: an LSTM language model, trained, kept, and compressed to a budget (section 2.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_bool, check_int, check_real
from gossamer.core.randomness import derive_seed
from gossamer.core.search_space import Real, SearchSpace
from gossamer.data.parts import over_words
from gossamer.data.sentences import Sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.likelihood import perplexity_per_token
from gossamer.models.lowrank.answers import ByAnswers, Guide
from gossamer.models.lowrank.compressed_network import CompressedNetwork
from gossamer.models.lowrank.kept_networks import check_folder, train_or_take_
from gossamer.models.lowrank.language_training import (
    Piece,
    StreamPieces,
    next_word_distance,
    train_language_model,
)
from gossamer.models.stored_network import network_arrays, seeded_weights
from gossamer.networks.lstm import LSTMLanguageModel
from gossamer.networks.word_streams import start_bias_, stream_log_probs
from gossamer.persistence import JSON, check_names

FEWEST_WORDS = 3  # a piece of one word with the word before it and the word after it
TRAINED_BY = (  # all settings on which the whole network depends
    *("embedding_dim", "hidden_dim", "num_layers", "tied", "dropout"),
    *("num_samples", "num_steps", "epochs", "learning_rate", "batch_size", "random_state"),
)


class CompressedLanguageModel(CompressedNetwork):
    """Predicts each word from all before it, by an LSTM within `macs`, `params`, `bytes` and `milliseconds`.

    Sentences are read as one stream, in `batch_size` lanes and pieces of `num_steps`, the state carried on; the output
    layer is the embedding's table (`tied`) or has one of its own. `num_samples` words estimate the softmax in training
    (None: the full softmax); the search and all measures take the full one. The network is trained for `epochs` at
    `learning_rate`, unless the folder `base` keeps one of the same settings and data, and is kept there.

    Then it is compressed: see `compress` for `keep`, `only`, `allocator`, `fitted` and `refit`, `Budget` for
    `budget_of`. The LSTM's own matrices are only=["layers.*"]; "embedding" is the table, "output" an output layer of
    its own. Masks are searched for `measured_rounds`, `iterations` and `polish` on `search_rows` pieces at a time, by
    the whole network's own "answers" to them or by the "loss" of the words that follow (`guide`). `fine_tune_epochs` at
    `fine_tune_rate` follow, by the words. Without any budget the network stays whole, as a row to compare with.
    `refit` is off: only the LSTM's input matrices could be fitted anew, which was worth nothing in a trial (README).
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "perplexity",
        {
            "params": Real(0.1, 0.9),
            "dropout": Real(0, 0.6),
            "learning_rate": Real(0.001, 0.05, log=True),
        },
    )

    def __init__(
        self,
        *,
        embedding_dim: int = 200,
        hidden_dim: int = 200,
        num_layers: int = 2,
        tied: bool = True,
        dropout: float = 0.2,
        num_samples: int | None = 1000,
        num_steps: int = 35,
        epochs: int = 2,
        learning_rate: float = 0.008,
        batch_size: int = 20,
        base: str | None = None,
        macs: float | None = None,
        params: float | None = None,
        bytes: float | None = None,
        milliseconds: float | None = None,
        budget_of: str = "model",
        keep: Sequence[str] | None = None,
        only: Sequence[str] | None = None,
        allocator: str = "cobla",
        fitted: bool = True,
        refit: bool | None = False,
        measured_rounds: int = 0,
        iterations: int = 20,
        polish: int = 60,
        exact_gradients: bool = False,
        guide: str = "answers",
        search_rows: int = 20,
        calibration_batches: int = 32,
        fine_tune_epochs: int = 0,
        fine_tune_rate: float = 0.002,
        random_state: int | None = 0,
    ) -> None:
        self.embedding_dim = embedding_dim
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.tied = tied
        self.dropout = dropout
        self.num_samples = num_samples
        self.num_steps = num_steps
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.base = base
        self.macs = macs
        self.params = params
        self.bytes = bytes
        self.milliseconds = milliseconds
        self.budget_of = budget_of
        self.keep = keep
        self.only = only
        self.allocator = allocator
        self.fitted = fitted
        self.refit = refit
        self.measured_rounds = measured_rounds
        self.iterations = iterations
        self.polish = polish
        self.exact_gradients = exact_gradients
        self.guide = guide
        self.search_rows = search_rows
        self.calibration_batches = calibration_batches
        self.fine_tune_epochs = fine_tune_epochs
        self.fine_tune_rate = fine_tune_rate
        self.random_state = random_state

    def _check_arguments(self) -> None:
        for name in ("embedding_dim", "hidden_dim", "num_layers", "num_steps"):
            check_int(name, getattr(self, name), at_least=1)
        check_bool("tied", self.tied)
        check_real("dropout", self.dropout, at_least=0, below=1)
        if self.num_samples is not None:
            check_int("num_samples", self.num_samples, at_least=1)
        check_folder("base", self.base)
        self._check_compression()
        if self.base is not None and self.random_state is None:
            raise ValueError(
                "random_state must be a number where base keeps the network, got None: no two fits would be of the "
                "same network"
            )

    def fit(self, data: Sentences, validation: Sentences | None = None) -> Self:
        """Train, or take from `base`, compress, and fine-tune; `validation` is not looked at."""
        del validation
        self._check_arguments()
        stream = _stream_of(data)
        self.words_ = data.vocabulary
        self.start_ = int(stream[-1])
        self.seed_ = self._new_seed()
        with seeded_weights(self.random_state):
            network = self._make_network()
        start_bias_(network, np.bincount(stream, minlength=len(self.words_)))
        identity: dict[str, JSON] = {name: getattr(self, name) for name in TRAINED_BY}
        if self.base is not None:
            identity["data"] = data.fingerprint()
        train_or_take_(
            network,
            lambda: self._train(network, stream, self.epochs, self.learning_rate, "training"),
            self.base,
            identity,
        )
        self._finish(network, data)
        return self

    def _make_network(self) -> LSTMLanguageModel:
        return LSTMLanguageModel(
            nn.Embedding(len(self.words_), self.embedding_dim),
            hidden_dim=self.hidden_dim,
            num_layers=self.num_layers,
            dropout=self.dropout,
            tied=self.tied,
        )

    def _train(self, network: nn.Module, stream: np.ndarray, epochs: int, rate: float, description: str) -> None:
        train_language_model(
            network,  # type: ignore[arg-type]
            stream,
            num_samples=self.num_samples,
            num_steps=self.num_steps,
            num_lanes=self.batch_size,
            epochs=epochs,
            learning_rate=rate,
            random_state=derive_seed(self.seed_, description),
            description=description,
        )

    def _search_batches(self, data: Sentences) -> Iterable[Piece]:
        return StreamPieces(
            self.network_,  # type: ignore[arg-type]
            _stream_of(over_words(_check_sentences(data), self.words_)),
            num_rows=self.search_rows,
            num_steps=self.num_steps,
            seed=derive_seed(self.seed_, "search batches"),
        )

    def _loss(self, output: tuple[Tensor, Any], target: Tensor) -> Tensor:
        return functional.cross_entropy(output[0].flatten(0, 1), target.flatten())

    def _guide(self) -> Guide:
        return self._loss if self.guide == "loss" else ByAnswers(next_word_distance)

    def _fine_tune(self, network: nn.Module, data: Sentences) -> None:
        stream = _stream_of(over_words(data, self.words_))
        self._train(network, stream, self.fine_tune_epochs, self.fine_tune_rate, "fine-tuning")

    def log_likelihood(self, data: Sentences) -> Float[np.ndarray, " N"]:
        """Return log p of each sentence given those before it in `data`, over the words the model knows."""
        check_is_fitted(self, "network_")
        known = over_words(_check_sentences(data), self.words_)
        log_probs = stream_log_probs(self.network_, known.tokens, start=self.start_)
        sums = np.concatenate([[0.0], np.cumsum(log_probs)])
        likelihood: np.ndarray = np.diff(sums[known.offsets])
        return likelihood

    def evaluate(self, data: Sentences) -> dict[str, float]:
        """Return the perplexity, exp of the mean over all tokens of −log p, and what is left of the network's costs."""
        likelihood = self.log_likelihood(data)
        lengths = over_words(data, self.words_).lengths
        written = lengths > 0
        if not written.any():
            raise ValueError(f"data must have at least one word the model knows, got {data!r}")
        return {"perplexity": perplexity_per_token(likelihood[written], lengths[written]), **self._costs()}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the network's weights."""
        check_is_fitted(self, "network_")
        return network_arrays(self.network_)

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the words."""
        return {"words": self.words_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the word a text begins after, and the compression report."""
        check_is_fitted(self, "network_")
        return {"start": self.start_, **self._stored_report()}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"words"}, "vocabularies")
        self._check_arguments()
        self.words_ = vocabularies["words"]
        self.start_ = check_int("start", metadata["start"], at_least=0, at_most=len(self.words_) - 1)
        self._take_back(self._make_network(), arrays, metadata)


def _check_sentences(data: Any) -> Sentences:
    if not isinstance(data, Sentences):
        raise ValueError(f"data must be Sentences, got {type(data).__name__}")
    return data


def _stream_of(data: Any) -> np.ndarray:
    stream: np.ndarray = _check_sentences(data).tokens
    if len(stream) < FEWEST_WORDS:
        raise ValueError(f"data must have at least {FEWEST_WORDS} words the model knows, got {data!r}")
    return stream
