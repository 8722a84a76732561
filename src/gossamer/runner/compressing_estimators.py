"""A fitted estimator of any family, its network within a budget: `gossamer.compress` behind the estimator's own face.

Families do not know each other. Here is known what each network does with rows of data, which is all that `compress`
asks for; what comes back takes the place of the network, and everything the estimator does, saving included, goes on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from scipy import sparse
from torch import Tensor, nn

from gossamer.core.randomness import numpy_generator, torch_generator
from gossamer.data.parts import over_words
from gossamer.models.community.network import CommunityNetwork
from gossamer.models.counts.autoencoder import DenoisingAutoencoder
from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.network import CountNetwork
from gossamer.models.discrete.count_regressor_network import ConvEncoder, DenseEncoder, mean_counts
from gossamer.models.discrete.label_network import LabelNetwork, put_together_, take_apart_
from gossamer.models.discrete.module import DiscreteNetwork
from gossamer.models.discrete.rows import Rows
from gossamer.models.embeddings.text.text_training import pad_texts
from gossamer.models.lowrank import Budget, CompressionReport, SearchSettings, compress
from gossamer.models.lowrank.budget import COSTS, check_budget
from gossamer.models.lowrank.compressed_network import CompressedNetwork
from gossamer.models.markov.neural.arguments import unrolled_of
from gossamer.models.markov.neural.em_layer import observe
from gossamer.models.markov.neural.methods import WITH_NETWORK
from gossamer.models.markov.neural.network import NeuralEMNetwork
from gossamer.models.spikeslab.module import SentenceNetwork
from gossamer.models.spikeslab.probe_network import FrozenProbe, SimpleClassifier
from gossamer.models.spikeslab.ragged import pack_sentences
from gossamer.models.spikeslab.sentences import over_known_words
from gossamer.networks.awd_lstm import AWDLSTM
from gossamer.networks.low_rank import LowRankConvolution, LowRankEmbedding, LowRankLinear
from gossamer.networks.lstm import LSTMLanguageModel
from gossamer.networks.text_cnn import TextCNN

Answer = Callable[[Any, Tensor], Tensor]  # (network, numbers of rows) → what the network says of them
ROWS_AT_ONCE, NUM_BATCHES = 64, 8
# Why estimators of the catalogue are refused, by name; those that are not here have no network.
WHY_NOT = {
    "AnchorRecommender": "it has tables of ids, which method and ratio compress, and no layers",
    "LightGCN": "it has a table of ids and no layers",
    "NeuralEM": f"of its methods only {', '.join(WITH_NETWORK)} have a network",
    "NonparametricRecommender": "it has tables of ids, which are compressed as they are learned, and no layers",
}


def compress_estimator(
    estimator: Any,
    data: Any,
    budget: Budget,
    *,
    allocator: str | None = None,
    keep: Collection[str] = (),
    only: Collection[str] | None = None,
    iterations: int | None = None,
    random_state: int | None = 0,
) -> tuple[Any, CompressionReport]:
    """Return a copy of a fitted estimator whose network is within `budget`, and the report; the estimator stays.

    `gossamer.compress` is the same for estimators and for networks of your own, and returns the copy alone, with the
    report as its `compression_report`.

    `data` are training data of the estimator; a few hundred rows of them tell which directions of each layer matter.
    The allocator "cobla" searches for the ranks that change the network's answers least; None is "pos_cvx". Patterns in
    `keep` and `only` are names of layers as `estimator.network_.named_modules()` has them; a layer of a label
    classifier's members is one per member, "encoder.layers.0.members.2". Other arguments are those of `compress`.

    A `CompressedNetwork` is compressed by its own `compress`: the budget, and what else is given, become settings of
    the copy, and its batches are its own.
    """
    network = getattr(estimator, "network_", None)
    if not can_be_compressed(estimator):
        raise ValueError(
            f"estimator must be one with a network that can be split, which {type(estimator).__name__} has not: "
            f"{why_not(estimator)}; docs/composition.md says which have"
        )
    assert isinstance(network, nn.Module)
    if isinstance(estimator, CompressedNetwork):
        settings = {"allocator": allocator, "keep": keep or None, "only": only, "iterations": iterations}
        return _compress_by_settings(estimator, data, budget, settings)
    if any(isinstance(part, LowRankLinear | LowRankConvolution | LowRankEmbedding) for part in network.modules()):
        raise ValueError(
            "the network must be whole to be compressed, got one that is compressed already; "
            "compress the model it came from"
        )
    describe = next(found for kind, found in ANSWERS.items() if isinstance(network, kind))
    if isinstance(network, LabelNetwork):
        network = copy.deepcopy(network)
        take_apart_(network)
    whole = _Answering(network, describe(estimator, data))
    rows = _some_rows(data.shape[0] if sparse.issparse(data) else len(data), random_state)
    small = compress(
        whole,
        data=[(part, None) for part in rows],  # without a loss its own answers are the guide
        budget=budget,
        allocator="pos_cvx" if allocator is None else allocator,
        keep=[f"network.{pattern}" for pattern in [*keep, *_word_table(network)]],
        only=None if only is None else [f"network.{pattern}" for pattern in only],
        search=None if iterations is None else SearchSettings(iterations=iterations),
    )
    compressed = copy.copy(estimator)
    compressed.network_ = small.get_submodule("network").eval()
    if isinstance(compressed.network_, LabelNetwork):
        put_together_(compressed.network_)
    if isinstance(compressed.network_, FrozenProbe):  # the codes that it reads are those of a model of its own
        compressed.vae_ = copy.copy(estimator.vae_)
        compressed.vae_.network_ = compressed.network_.network
    report: Any = small.compression_report
    compressed.compression_report = report
    return compressed, report


def _compress_by_settings(
    estimator: CompressedNetwork, data: Any, budget: Budget, settings: Mapping[str, Any]
) -> tuple[CompressedNetwork, CompressionReport]:
    """Return a copy of an estimator that has a budget among its settings, compressed to this one."""
    check_budget(budget)
    small = copy.copy(estimator)
    given = {name: value for name, value in settings.items() if value is not None}
    small.set_params(**{name: getattr(budget, name) for name in COSTS}, budget_of=budget.of, **given)
    report = small.compress(data).report_
    assert report is not None
    small.compression_report = report
    return small, report


def can_be_compressed(estimator: Any) -> bool:
    """Say whether a fitted estimator has a network that this module knows, or compresses itself."""
    network = getattr(estimator, "network_", None)
    return isinstance(network, nn.Module if isinstance(estimator, CompressedNetwork) else tuple(ANSWERS))


def why_not(estimator: Any) -> str:
    """Say why an estimator is not compressed by this door."""
    is_fitted = any(name.endswith("_") for name in vars(estimator))
    return WHY_NOT.get(type(estimator).__name__, "it has no network" if is_fitted else "it has not been fitted")


def _word_table(network: nn.Module) -> list[str]:
    """Return the layers inside the table of a text model, which stores itself in its own way."""
    if not isinstance(network, TextCNN | LSTMLanguageModel | AWDLSTM):
        return []
    parts = network.embedding.named_modules(prefix="embedding")
    return [name for name, part in parts if isinstance(part, nn.Linear | nn.Embedding)]


class _Answering(nn.Module):
    """A network as a function of row numbers; `answer` is a plain function, which copies of the module share."""

    def __init__(self, network: nn.Module, answer: Answer) -> None:
        super().__init__()
        self.network, self._answer = network, answer

    def forward(self, rows: Tensor) -> Tensor:
        """Return what the network says of these rows."""
        return self._answer(self.network, rows)


def _some_rows(num_rows: int, random_state: int | None) -> list[Tensor]:
    if num_rows == 0:
        raise ValueError("data must have at least one row, got none")
    order = numpy_generator(random_state).permutation(num_rows)[: ROWS_AT_ONCE * NUM_BATCHES]
    return [torch.from_numpy(order[begin : begin + ROWS_AT_ONCE]) for begin in range(0, len(order), ROWS_AT_ONCE)]


def _of_counts(estimator: Any, data: Any) -> Answer:
    """Encoder and decoder of a count model, at the encoder's own mean."""
    if hasattr(estimator, "terms_"):
        matrix, inputs = estimator._read(data)
    else:
        matrix = data.aligned_to(estimator.items_).matrix()
        inputs = estimator.features_.values(matrix)

    def answer(network: Any, rows: Tensor) -> Tensor:
        batch = take_batch(matrix, inputs, rows.numpy())
        if isinstance(network, DenoisingAutoencoder):
            logits: Tensor = network(batch)
            return logits
        return torch.log_softmax(network.decoder.logits(network.encoder(batch).mean), dim=1)

    if isinstance(estimator.network_, CountNetwork) and estimator.network_.encoder is None:
        raise ValueError("inference must be one with an encoder for a model to be compressed, got 'svi'")
    return answer


def _of_codes(estimator: Any, data: Any) -> Answer:
    """What the encoder says, and what the decoder makes of the likeliest code."""
    observed = estimator._read(data)

    def answer(network: Any, rows: Tensor) -> Tensor:
        # Only these rows become dense: all training data would not fit.
        x = torch.cat(list(estimator._blocks(Rows(observed.values[rows.numpy()]))))
        encoded = network.encode(x)
        return torch.cat([encoded, network.decoder(network.latent.likeliest(encoded))], dim=1)

    return answer


def _of_sentences(estimator: Any, data: Any) -> Answer:
    """The log-probabilities of a sentence's own words, read back from its mean code."""
    sentences = estimator._known(data).sentences

    def answer(network: Any, rows: Tensor) -> Tensor:
        batch = pack_sentences(sentences, rows.numpy(), estimator.max_length)
        mean = network.codes.describe(network.features(batch)).mean
        found: Tensor = network.softmax.log_probs(network.hidden(batch, mean))
        return found

    return answer


def _of_probe(estimator: Any, data: Any) -> Answer:
    """The log-probabilities of the classes: of the mean code, where a probe would average over draws of it."""
    max_length = estimator.vae_.max_length
    known = over_known_words(data, estimator.vae_.words_, max_length).sentences

    def answer(network: Any, rows: Tensor) -> Tensor:
        batch = pack_sentences(known, rows.numpy(), max_length)
        if isinstance(network, SimpleClassifier):
            return network(batch)  # type: ignore[no-any-return]
        codes = network.network.codes.describe(network.network.features(batch))
        return network.probe(codes.mean)  # type: ignore[no-any-return]

    return answer


def _of_users(estimator: Any, data: Any) -> Answer:
    """The scores of all items, users being read from their histories; what is cached of items stays as it is."""

    def answer(network: Any, rows: Tensor) -> Tensor:
        known = estimator._known(data[rows.numpy()])
        history = estimator._neighbours(known)
        parts = network.user_parts(network.full_users(known.codes, estimator.neighbour_vectors_, history))
        scores: Tensor = network.score_all(network.user_vectors(parts), estimator.item_vectors_, estimator.item_bias_)
        return scores

    return answer


def _of_series(estimator: Any, data: Any) -> Answer:
    """The parameters of each series."""
    problem, unrolled = estimator._problem(), unrolled_of(estimator)

    def answer(network: Any, rows: Tensor) -> Tensor:
        batch = estimator._read(data[rows.numpy()])
        series = observe(batch, problem.emission, estimator.n_features_in_)
        features = torch.from_numpy(estimator._features(batch))
        vectors: Tensor = network(features, series, problem, unrolled, torch_generator(0))
        return vectors

    return answer


def _of_texts(estimator: Any, data: Any) -> Answer:
    """The log-probabilities of the classes."""
    known = over_words(data, estimator.words_)

    def answer(network: Any, rows: Tensor) -> Tensor:
        return torch.log_softmax(network(pad_texts(known, rows.numpy(), estimator.max_length)), dim=1)

    return answer


def _of_words(estimator: Any, data: Any) -> Answer:
    """What the output layer, which is the word table, reads at every word; all its answers would not fit."""
    known = over_words(data, estimator.words_)

    def answer(network: Any, rows: Tensor) -> Tensor:
        tokens = pad_texts(known, rows.numpy(), estimator.num_steps)
        hidden, _ = network.hidden(tokens.where(tokens >= 0, estimator.start_))
        return hidden  # type: ignore[no-any-return]

    return answer


def _of_counted(estimator: Any, data: Any) -> Answer:
    """The logits of classes and gate."""
    inputs = estimator._rows(data)

    def answer(network: Any, rows: Tensor) -> Tensor:
        encoded: Tensor = network(estimator._scaled(inputs[rows.numpy()]))
        return encoded

    return answer


def _of_labels(estimator: Any, data: Any) -> Answer:
    """Every member's logits of labels and gate, and what a decoder makes of the draws that they lead to expect."""
    inputs = estimator._network_inputs(data)

    def answer(network: Any, rows: Tensor) -> Tensor:
        encoded: Tensor = network(inputs[rows])
        if network.decoder is not None:
            expected = mean_counts(encoded.flatten(0, 1), estimator.max_active_)
            encoded = torch.cat([encoded, network.decoder(expected.view(*encoded.shape[:2], -1))], dim=2)
        return encoded.transpose(0, 1)

    return answer


ANSWERS: dict[type, Callable[[Any, Any], Answer]] = {
    CountNetwork: _of_counts,
    DenoisingAutoencoder: _of_counts,
    DiscreteNetwork: _of_codes,
    SentenceNetwork: _of_sentences,
    CommunityNetwork: _of_users,
    NeuralEMNetwork: _of_series,
    FrozenProbe: _of_probe,
    SimpleClassifier: _of_probe,
    TextCNN: _of_texts,
    LSTMLanguageModel: _of_words,
    AWDLSTM: _of_words,
    DenseEncoder: _of_counted,
    ConvEncoder: _of_counted,
    LabelNetwork: _of_labels,
}
