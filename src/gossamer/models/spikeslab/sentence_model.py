"""What a fitted sentence VAE can do: codes, measures, sentences from codes, meanings of dimensions, artifact."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import torch_generator
from gossamer.data.sentences import Sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.likelihood import perplexity_per_token
from gossamer.metrics.sparsity import average_hoyer, hoyer
from gossamer.models.spikeslab.analysis import class_measures, class_patterns, top_sentences
from gossamer.models.spikeslab.decoding import as_sentences, decode
from gossamer.models.spikeslab.hierarchical import HierarchicalCodes
from gossamer.models.spikeslab.inference import Encoded, Refinement, encode_all
from gossamer.models.spikeslab.module import SentenceNetwork
from gossamer.models.spikeslab.objective import Weights
from gossamer.models.spikeslab.rivals import MatCodes
from gossamer.models.spikeslab.sentences import Known, over_known_words
from gossamer.models.stored_network import network_arrays, restore_network
from gossamer.persistence import JSON, Persistent, check_names
from gossamer.persistence.parts import describe_part, is_part, rebuild_part

KINDS = ("sparse", "mean", "sample")
TABLE, OWN_TABLE = "table.", "network.vectors.table."  # arrays of a table that is a part, and those of a plain one


class SentenceModel(Persistent, BaseEstimator, ABC):
    """An encoder of sentences into codes and a decoder of codes into sentences; `fit` is the subclass's."""

    max_length: int
    refine_steps: int
    network_: SentenceNetwork
    words_: Vocabulary
    history_: JSON
    dimensions_: list[dict[str, Any]]
    tokens_per_second_: float
    is_own_: bool
    has_own_encoder_: bool

    @abstractmethod
    def _check_arguments(self) -> None:
        """Refuse bad arguments, each by its name."""

    @abstractmethod
    def _make_network(self, words: Vocabulary) -> SentenceNetwork:
        """Return a network with the model's own table and encoder."""

    @abstractmethod
    def _weights(self) -> Weights:
        """Return the weights of the objective."""

    def refinement(self) -> Refinement | None:
        """Return how the features of each sentence are refined; None where the encoder's are taken as they are."""
        return Refinement(self.refine_steps, self._weights()) if self.refine_steps else None

    def _known(self, data: Any, name: str = "data") -> Known:
        check_is_fitted(self, "network_")
        return over_known_words(data, self.words_, self.max_length, name)

    def _encode(
        self,
        sentences: Sentences,
        random_state: int | None = 0,
        *,
        with_likelihood: bool = False,
        features: Float[torch.Tensor, "N H"] | None = None,
    ) -> Encoded:
        return encode_all(
            self.network_,
            sentences,
            self.max_length,
            torch_generator(random_state),
            refinement=self.refinement(),
            with_likelihood=with_likelihood,
            features=features,
        )

    def transform(
        self, data: Sentences, *, kind: str = "sparse", threshold: float | None = None, random_state: int | None = 0
    ) -> sparse.csr_array | Float32[np.ndarray, "N D"]:
        """Return one code per sentence.

        "sparse" is CSR: as many dimensions as are expected to be on, the likeliest, have their value when on, and the
        others are zero; "mean" is the posterior's mean and "sample" one draw from it, both dense. A Gaussian posterior
        has nothing off: its sparse code is the mean. With a `threshold`, on are in its place those dimensions whose
        probability of being off is below it (section 4.4 of the paper takes 0.5).
        """
        check_choice("kind", kind, KINDS)
        if threshold is not None:
            check_real("threshold", threshold, above=0, at_most=1)
            if kind != "sparse":
                raise ValueError(f"threshold must be None unless kind is 'sparse', got {threshold!r}")
        encoded = self._encode(self._known(data).sentences, random_state)
        if kind == "sparse":
            is_on = encoded.is_on if threshold is None else encoded.off_probs < threshold
            return sparse.csr_array(np.where(is_on, encoded.slab_mean, np.float32(0)))
        return encoded.mean if kind == "mean" else encoded.sample

    def evaluate(self, data: Sentences) -> dict[str, float]:
        """Return nats per sentence (the KLs without weights), a bound on the perplexity per word, and sparsity.

        `perplexity` counts the end mark as a word and is from one draw per sentence. Average Hoyer is equation (3), on
        posterior means and on draws; `active` is how many dimensions of the sparse code are on. `truncated` and
        `unknown` are shares of sentences and words; `tokens_per_second` is of training.
        """
        known = self._known(data)
        return self._measures(known, self._encode(known.sentences, with_likelihood=True))

    def _measures(self, known: Known, encoded: Encoded) -> dict[str, float]:
        cost = (encoded.reconstruction + encoded.kl_z + encoded.kl_gamma).astype(np.float64)
        num_words = np.minimum(known.sentences.lengths, self.max_length) + 1
        return {
            "reconstruction": float(encoded.reconstruction.mean(dtype=np.float64)),
            "kl_z": float(encoded.kl_z.mean(dtype=np.float64)),
            "kl_gamma": float(encoded.kl_gamma.mean(dtype=np.float64)),
            "elbo": -float(cost.mean()),
            "perplexity": perplexity_per_token(-cost, num_words),
            "average_hoyer_mean": hoyer_of_set(encoded.mean),
            "average_hoyer_sample": hoyer_of_set(encoded.sample),
            "active": float(encoded.is_on.sum(axis=1).mean()),
            "truncated": known.truncated,
            "unknown": known.unknown,
            "tokens_per_second": self.tokens_per_second_,
        }

    def reconstruct(self, data: Sentences) -> Sentences:
        """Return what the decoder makes of each sentence's mean code, the likeliest word at every step."""
        return self.decode(self._encode(self._known(data).sentences).mean)

    def decode(self, codes: Float[np.ndarray, "N D"] | sparse.csr_array) -> Sentences:
        """Return a sentence for each code."""
        check_is_fitted(self, "network_")
        dense = sparse.csr_array(codes).toarray() if sparse.issparse(codes) else np.asarray(codes)
        wanted = self.network_.codes.latent_dim
        if dense.ndim != 2 or dense.shape[1] != wanted:
            raise ValueError(f"codes must have the shape (N, {wanted}), got {dense.shape}")
        tensor = torch.from_numpy(np.ascontiguousarray(dense, dtype=np.float32))
        return as_sentences(decode(self.network_, tensor, self.max_length), self.words_)

    def sample(self, n: int, *, random_state: int | None = None, temperature: float = 1.0) -> Sentences:
        """Return n new sentences: codes from the prior, words drawn one by one."""
        check_is_fitted(self, "network_")
        check_int("n", n, at_least=1)
        check_real("temperature", temperature, above=0)
        generator = torch_generator(random_state)
        with torch.no_grad():
            codes = self.network_.codes.draw_prior(n, generator)
        rows = decode(self.network_, codes, self.max_length, generator, temperature=temperature)
        return as_sentences(rows, self.words_)

    def interpolate(self, data: Sentences, *, num_steps: int = 7) -> Sentences:
        """Return sentences on the straight line between the mean codes of two sentences, both ends included."""
        check_int("num_steps", num_steps, at_least=2)
        known = self._known(data).sentences
        if len(known) != 2:
            raise ValueError(f"data must be 2 sentences to go from one to the other, got {len(known)}")
        first, last = self._encode(known).mean
        share = np.linspace(0, 1, num_steps, dtype=np.float32)[:, None]
        return self.decode((1 - share) * first + share * last)

    def class_patterns(self, data: Sentences) -> Float64[np.ndarray, "C D"]:
        """Return γ_class of section 4.4: in which share of a class's sentences each dimension is off."""
        known = self._known(data).sentences
        if known.labels is None or known.label_names is None:
            raise ValueError("data must have a label for each sentence, got none")
        return class_patterns(self._encode(known).off_probs >= 0.5, known.labels, len(known.label_names))

    def class_measures(self, data: Sentences) -> dict[str, float]:
        """Return how clearly the classes of `data` differ in their gates and in their words (section 4.4)."""
        known = self._known(data).sentences
        return class_measures(self._encode(known).off_probs, known)

    def top_sentences(self, data: Sentences, dimension: int, n: int = 5) -> list[dict[str, Any]]:
        """Return the n sentences of `data` where a dimension is on and farthest from 0."""
        known = self._known(data).sentences
        check_int("dimension", dimension, at_least=0, at_most=self.network_.codes.latent_dim - 1)
        check_int("n", n, at_least=1)
        encoded = self._encode(known)
        return top_sentences(encoded.slab_mean, ~encoded.is_on, known, dimension, n)

    def item_vectors(self) -> Float[np.ndarray, "V E"]:
        """Return the vectors of the words."""
        check_is_fitted(self, "network_")
        with torch.no_grad():
            vectors: np.ndarray = self.network_.vectors(torch.arange(len(self.words_))).cpu().numpy()
        return vectors

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the n dimensions that are on most often and the words of the sentences where they are."""
        check_is_fitted(self, "network_")
        check_int("n", n, at_least=1)
        often = sorted(self.dimensions_, key=lambda row: -row["on in"])
        return {"dimensions": often[:n]}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the weights; a table or an encoder that cannot be rebuilt by name is refused."""
        check_is_fitted(self, "network_")
        if not self.is_own_:
            raise ValueError(
                "table and encoder must be the model's own for an artifact, got modules of the caller's; "
                "keep network_.state_dict() with whatever builds them"
            )
        arrays, table = network_arrays(self.network_), self.network_.vectors.table
        if not is_part(table):
            return arrays
        others = {name: array for name, array in arrays.items() if not name.startswith(OWN_TABLE)}
        return others | {f"{TABLE}{name}": array for name, array in table.stored().items()}  # type: ignore[operator]

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the words."""
        check_is_fitted(self, "network_")
        return {"words": self.words_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history, its speed, what dimensions mean, and how a table of the caller's is built."""
        check_is_fitted(self, "network_")
        table: Any = self.network_.vectors.table
        return {
            **({"table": describe_part(table)} if is_part(table) else {}),
            "history": self.history_,
            "dimensions": list(self.dimensions_),
            "tokens_per_second": self.tokens_per_second_,
            "spike_scale": getattr(self.network_.codes, "spike_scale", None),
        }

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
        network = self._make_network(self.words_)
        own = {name: array for name, array in arrays.items() if not name.startswith(TABLE)}
        table: nn.Module | None = None
        if "table" in metadata:
            stored = {name.removeprefix(TABLE): array for name, array in arrays.items() if name not in own}
            sizes = {"num_embeddings": len(self.words_), "embedding_dim": self.embedding_dim}
            table = rebuild_part(metadata["table"], stored, **sizes)
            network.vectors.table = nn.Identity()  # so that no rows of its own are asked for
        restore_network(network, own)
        if table is not None:
            network.vectors.table = table.eval()
        self.take_network(network, metadata)

    def take_network(self, network: SentenceNetwork, metadata: Mapping[str, JSON]) -> None:
        """Take a network with its weights back, and what `learned_metadata` says of it."""
        network.rank_again()
        scale = metadata.get("spike_scale")
        if scale is not None and isinstance(network.codes, HierarchicalCodes | MatCodes):
            # The one it was trained with, should the rule that chose it change.
            network.codes.spike_scale = check_real("spike_scale", scale, above=0)
        self.network_, self.is_own_, self.has_own_encoder_ = network, True, True
        self.history_ = metadata["history"]
        self.dimensions_ = metadata["dimensions"]  # type: ignore[assignment]
        self.tokens_per_second_ = check_real("tokens_per_second", metadata["tokens_per_second"], at_least=0)


def hoyer_of_set(codes: Float[np.ndarray, "N D"]) -> float:
    """Return the Average Hoyer; dimensions that never vary say nothing and count as 0, and so do codes of zeros only.

    >>> hoyer_of_set(np.array([[1.0, 0.0, 7.0], [0.0, 1.0, 7.0]], dtype=np.float32))
    1.0
    """
    if codes.shape[1] < 2:
        return 0.0
    if len(codes) == 1:
        return float(np.nan_to_num(hoyer(codes)[0]))
    varies = (codes != codes[0]).any(axis=0)
    return float(np.nan_to_num(average_hoyer(np.where(varies, codes, 0))))
