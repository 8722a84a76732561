"""SentenceProbe: what can be told of a sentence's class from its code alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn import functional

from gossamer.core.checks import check_bool, check_int, check_real
from gossamer.core.randomness import numpy_generator, torch_generator
from gossamer.core.search_space import Choice, Real, SearchSpace
from gossamer.data.batching import Batches
from gossamer.data.sentences import Sentences
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.spikeslab.analysis import class_measures
from gossamer.models.spikeslab.inference import SENTENCES_AT_ONCE, featured
from gossamer.models.spikeslab.probe_network import DenseLayers, FrozenProbe, SimpleClassifier
from gossamer.models.spikeslab.ragged import pack_sentences
from gossamer.models.spikeslab.sentence_vae import SentenceVAE
from gossamer.models.spikeslab.sentences import Known, check_training, over_known_words
from gossamer.models.spikeslab.training import make_batches
from gossamer.models.stored_network import check_widths, network_arrays, restore_network, seeded_weights
from gossamer.persistence import JSON, Persistent, check_names

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

PROBED_AT_ONCE = 4096  # sentences, each with all of its draws


class SentenceProbe(Persistent, BaseEstimator):
    """Fits a `SentenceVAE` without labels, freezes it, and classifies its codes by two small dense layers.

    `vae` are the settings of the `SentenceVAE` (its `random_state` is the probe's unless given). The classifier sees
    `num_samples` draws of a code, and its answer is the mean over them, in training and afterwards (K = 5 in the
    paper). With `end_to_end` there is no code: encoder and classifier are trained together on the labels, the
    paper's simple classifier. With validation data and `patience`, the epoch of the best accuracy there is kept.
    """

    history_: JSON

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "accuracy",
        {
            "hidden_dims": Choice(([16], [32, 32], [64, 64])),
            "learning_rate": Real(0.0002, 0.01, log=True),
        },
        fixed={"patience": 5},
    )

    def __init__(
        self,
        *,
        vae: dict[str, Any] | None = None,
        end_to_end: bool = False,
        hidden_dims: Sequence[int] = (32, 32),
        num_samples: int = 5,
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        epochs: int = 20,
        patience: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.vae = vae
        self.end_to_end = end_to_end
        self.hidden_dims = hidden_dims
        self.num_samples = num_samples
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    def fit(self, data: Sentences | Share[Sentences], validation: Sentences | Share[Sentences] | None = None) -> Self:
        """Fit the codes on the sentences and the classifier on their labels.

        Shares have the same words and classes on every process.
        """
        from gossamer.training.loop import fit as train
        from gossamer.training.sharing import rows_of
        from gossamer.training.step import GradientStep

        vae = self._check_arguments()
        held, sharing = rows_of(data)
        sentences = check_training(held)
        if sentences.labels is None or sentences.label_names is None:
            raise ValueError(f"data must have a label for each sentence, got none in {sentences!r}")
        self.label_names_ = tuple(sentences.label_names)
        sharing.check_same("words", sentences.vocabulary)
        sharing.check_same("classes", Vocabulary(self.label_names_))
        self.vae_ = vae
        if self.end_to_end:
            vae.words_ = sentences.vocabulary
        else:
            vae.fit(data, validation)
        self.network_ = self._make_network(vae)
        labels = torch.from_numpy(sentences.labels.astype(np.int64))
        batches, loss = (
            self._end_to_end_batches(sentences, labels, sharing)
            if self.end_to_end
            else self._codes(sentences, labels, sharing)
        )
        weights = [weight for weight in self.network_.parameters() if weight.requires_grad]
        optimiser = torch.optim.Adam(weights, lr=self.learning_rate)
        watched = None if validation is None or self.patience is None else self._watch(validation)
        history = train(
            GradientStep(self.network_, loss, optimiser, random_state=self.random_state),
            batches,
            epochs=self.epochs,
            validate=watched,
            monitor="loss" if watched is None else "valid_accuracy",
            mode="min" if watched is None else "max",
            patience=None if watched is None else self.patience,
            restore_best=watched is not None,
            description="sentence probe",
        )
        self.network_.eval()
        self.history_ = history.as_dict()
        return self

    def _check_arguments(self) -> SentenceVAE:
        """Return the unfitted `SentenceVAE`, its settings checked, as are the probe's own."""
        settings = {} if self.vae is None else self.vae
        known = inspect.signature(SentenceVAE).parameters
        if not isinstance(settings, Mapping) or not set(settings) <= set(known):
            raise ValueError(f"vae must be settings of SentenceVAE ({', '.join(known)}), got {self.vae!r}")
        check_bool("end_to_end", self.end_to_end)
        check_widths("hidden_dims", self.hidden_dims)
        check_int("num_samples", self.num_samples, at_least=1)
        check_real("learning_rate", self.learning_rate, above=0)
        check_int("batch_size", self.batch_size, at_least=1)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        numpy_generator(self.random_state)
        vae = SentenceVAE(**{"random_state": self.random_state, **settings})
        vae._check_arguments()
        return vae

    def _make_network(self, vae: SentenceVAE) -> FrozenProbe | SimpleClassifier:
        network = vae._make_network(vae.words_) if self.end_to_end or not hasattr(vae, "network_") else vae.network_
        input_dim = network.feature_dim if self.end_to_end else vae.latent_dim
        with seeded_weights(self.random_state):
            probe = DenseLayers(input_dim, self.hidden_dims, len(self.label_names_))
        if self.end_to_end:
            return SimpleClassifier(network.vectors, network.encoder, probe)
        return FrozenProbe(network, probe, self.num_samples)

    def _codes(
        self, data: Sentences, labels: Int[Tensor, " N"], sharing: Sharing
    ) -> tuple[Batches[Any], Callable[..., Tensor]]:
        """Return batches of features, which are computed once, and the loss on codes drawn from them."""
        features = self._features(data)
        batches: Batches[Any] = sharing.batches(
            lambda rows: (features[torch.from_numpy(rows)], labels[torch.from_numpy(rows)]),
            len(data),
            self.batch_size,
            self.random_state,
        )
        return batches, lambda module, batch, generator: functional.nll_loss(module(batch[0], generator), batch[1])

    def _end_to_end_batches(
        self, data: Sentences, labels: Int[Tensor, " N"], sharing: Sharing
    ) -> tuple[Batches[Any], Callable[..., Tensor]]:
        batches = make_batches(data, self.vae_.max_length, self.batch_size, self.random_state, sharing)
        return batches, lambda module, batch, _: functional.nll_loss(module(batch), labels[batch.rows])

    def _features(self, data: Sentences) -> Tensor:
        assert isinstance(self.network_, FrozenProbe)
        network = self.network_.network
        features = torch.empty(len(data), network.feature_dim)
        refinement = self.vae_.refinement()
        for batch, found in featured(network, data, self.vae_.max_length, torch_generator(0), refinement):
            features[batch.rows] = found
        return features

    def _known(self, data: Any, name: str = "data") -> Known:
        check_is_fitted(self, "network_")
        return over_known_words(data, self.vae_.words_, self.vae_.max_length, name)

    def _watch(self, validation: Sentences | Share[Sentences]) -> Callable[[], dict[str, float]]:
        """Return what measures the accuracy as it is now; frozen features are computed once for all epochs."""
        from gossamer.training.sharing import rows_of

        rows, watching = rows_of(validation)
        if watching.is_divided and len(rows) == 0:
            return lambda: watching.mean(None, 0)
        known = self._known(rows, "validation").sentences
        labels = self._check_classes(rows)
        features = None if self.end_to_end else self._features(known)

        def accuracy() -> float:
            return float((self._probs(known, features).argmax(axis=1) == labels).mean())

        return lambda: watching.mean({"valid_accuracy": accuracy()}, len(known))

    def predict_probs(self, data: Sentences) -> Float32[np.ndarray, "N C"]:
        """Return the probability of each class for each sentence."""
        known = self._known(data).sentences
        return self._probs(known, None if self.end_to_end else self._features(known))

    @torch.no_grad()
    def _probs(self, known: Sentences, features: Float[Tensor, "N H"] | None) -> Float32[np.ndarray, "N C"]:
        was_training = self.network_.training
        self.network_.eval()
        probs = np.empty((len(known), len(self.label_names_)), dtype=np.float32)
        if features is not None:
            generator = torch_generator(0)
            for begin in range(0, len(known), PROBED_AT_ONCE):
                block = slice(begin, begin + PROBED_AT_ONCE)
                probs[block] = self.network_(features[block], generator).exp().numpy()
        else:
            order = np.argsort(known.lengths, kind="stable")
            for begin in range(0, len(known), SENTENCES_AT_ONCE):
                batch = pack_sentences(known, order[begin : begin + SENTENCES_AT_ONCE], self.vae_.max_length)
                probs[batch.rows.numpy()] = self.network_(batch).exp().numpy()
        self.network_.train(was_training)
        return probs

    def predict(self, data: Sentences) -> Int[np.ndarray, " N"]:
        """Return the number of the likeliest class of each sentence, an index into `label_names_`."""
        numbers: np.ndarray = self.predict_probs(data).argmax(axis=1)
        return numbers

    def evaluate(self, data: Sentences) -> dict[str, float]:
        """Return the accuracy, and what `evaluate` and `class_measures` of the `SentenceVAE` say, if there is one."""
        known = self._known(data)
        labels = self._check_classes(data)
        features = None if self.end_to_end else self._features(known.sentences)
        found = {"accuracy": float((self._probs(known.sentences, features).argmax(axis=1) == labels).mean())}
        if self.end_to_end:
            return found
        # Refined features are the classifier's own: those of a draw depend on the draws before it.
        shared = features if self.vae_.refinement() is None else None
        encoded = self.vae_._encode(known.sentences, with_likelihood=True, features=shared)
        return found | self.vae_._measures(known, encoded) | class_measures(encoded.off_probs, known.sentences)

    def _check_classes(self, data: Sentences) -> Int[np.ndarray, " N"]:
        """Return the labels of sentences, or say that they are not of the classes of training."""
        if data.labels is None or tuple(data.label_names or ()) != self.label_names_:
            raise ValueError(f"data must have the classes {list(self.label_names_)}, got {data.label_names!r}")
        return data.labels

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return all weights."""
        check_is_fitted(self, "network_")
        return network_arrays(self.network_)

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return words and classes."""
        check_is_fitted(self, "network_")
        return {"words": self.vae_.words_, "labels": Vocabulary(self.label_names_)}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history, and the metadata of the codes."""
        check_is_fitted(self, "network_")
        return {"history": self.history_, "vae": {} if self.end_to_end else self.vae_.learned_metadata()}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"words", "labels"}, "vocabularies")
        vae = self._check_arguments()
        vae.words_ = vocabularies["words"]
        self.label_names_ = tuple(str(name) for name in vocabularies["labels"])
        network = self._make_network(vae)
        restore_network(network, arrays)
        if isinstance(network, FrozenProbe):
            vae.take_network(network.network, metadata["vae"])  # type: ignore[arg-type]
        self.vae_, self.network_ = vae, network
        self.history_ = metadata["history"]
