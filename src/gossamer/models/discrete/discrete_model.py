"""What a fitted model of discrete codes can do: codes, reconstructions, bounds, new observations, artifact."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Float32
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gossamer.core.checks import check_bool, check_int
from gossamer.core.randomness import derive_seed, numpy_generator, torch_generator
from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.discrete.bounds import NUM_SAMPLES, measure
from gossamer.models.discrete.module import DiscreteNetwork
from gossamer.models.discrete.new_rows import NUM_QUANTILES, draw_rows
from gossamer.models.discrete.rows import Rows, binarise, read_rows
from gossamer.models.stored_network import network_arrays, restore_network
from gossamer.persistence import JSON, Persistent, check_array, check_names

Observations: TypeAlias = LabelledArrays | Counts | sparse.csr_array | np.ndarray


class DiscreteModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Persistent, BaseEstimator, ABC):
    """An encoder into sparse discrete codes and a decoder of them; a subclass says which codes, how they are made.

    Observations are LabelledArrays, Counts, an array, a sparse matrix or a table with the columns of `fit`.
    """

    observation: str
    binarisation: str
    network_: DiscreteNetwork
    terms_: Vocabulary | None
    length_quantiles_: np.ndarray
    history_: JSON

    @abstractmethod
    def _check_arguments(self) -> None:
        """Refuse bad arguments, each by its name."""

    @abstractmethod
    def _make_network(self, num_columns: int, num_updates: int = 1) -> DiscreteNetwork:
        """Return the network with its first weights."""

    def _read(self, data: Any, name: str = "data") -> Rows:
        check_is_fitted(self, "history_")
        rows = read_rows(self, data, self.observation, reset=False, name=name)
        if isinstance(data, Counts) and self.terms_ is not None and data.terms != self.terms_:
            raise ValueError(f"{name} must have the terms of the training data in their order, got others")
        return rows

    def _blocks(self, rows: Rows, name: str = "rows") -> Iterator[Float[Tensor, "B D"]]:
        """Yield observations as the networks take them; a dynamic binarisation is always the same one here."""
        generator = torch.Generator()
        generator.manual_seed(derive_seed(0, "binarisation", name))
        for block in rows.blocks():
            yield binarise(block, self.binarisation, generator) if self.observation == "binary" else block

    @torch.no_grad()
    def transform(self, X: Observations, *, sample: bool = False, random_state: int | None = 0) -> sparse.csr_array:
        """Return codes as CSR: the likeliest one of each observation, or with `sample` a draw from its posterior."""
        rows = self._read(X)
        check_bool("sample", sample)
        generator = torch_generator(random_state)
        found = [sparse.csr_array((0, self.network_.latent.num_features), dtype=np.float32)]
        for x in self._blocks(rows):
            encoded = self.network_.encode(x)
            latent = self.network_.latent
            codes = latent.draw(encoded, 1, generator).codes[0] if sample else latent.likeliest(encoded)
            found.append(sparse.csr_array(codes.numpy().astype(np.float32)))
        return sparse.vstack(found, format="csr")

    @torch.no_grad()
    def inverse_transform(self, X: sparse.csr_array | np.ndarray) -> Float32[np.ndarray, "N D"]:
        """Return the observation to be expected of each code; of counts, the probabilities of all terms."""
        check_is_fitted(self, "history_")
        codes = sparse.csr_array(X, dtype=np.float32)
        wanted = self.network_.latent.num_features
        if codes.shape[1] != wanted:
            raise ValueError(f"X must be codes of {wanted} features, got {codes.shape[1]} columns")
        network, none = self.network_, np.zeros((0, self.n_features_in_), dtype=np.float32)
        decoded = [network.observation.mean(network.decoder(x)).numpy() for x in Rows(codes).blocks()]
        return np.concatenate([none, *decoded])

    def evaluate(self, data: Observations, *, num_samples: int = NUM_SAMPLES) -> dict[str, float]:
        """Return nats per observation, lower is better, and how many features are on.

        `hard` is the bound −ELBO with hard draws (= `reconstruction` + `kl`); `iw100` the importance-weighted bound of
        `num_samples` of them, between `hard` and −log p(x); `relaxed` the paper's objective, with relaxed draws at the
        present temperature: it is **not** a bound and may lie below −log p(x).
        """
        rows = self._read(data)
        check_int("num_samples", num_samples, at_least=1)
        found = measure(self.network_, self._blocks(rows), num_samples=num_samples)
        return {
            "relaxed": found["relaxed"],
            "hard": found["hard"],
            f"iw{num_samples}": found["iw"],
            "reconstruction": found["reconstruction"],
            "kl": found["kl"],
            "active": found["active"],
        }

    def score(self, X: Observations, y: object = None) -> float:
        """Return the bound with ten hard draws, in nats per observation, so that higher is better."""
        del y
        return -measure(self.network_, self._blocks(self._read(X)), num_samples=10)["hard"]

    def sample(self, n: int, *, random_state: int | None = None) -> Any:
        """Return n new observations: codes from the prior, values by the decoder.

        Counts are as many per row as training rows have, and come as they came to `fit`: as Counts, or as a matrix.
        """
        check_is_fitted(self, "history_")
        check_int("n", n, at_least=1)
        generator = numpy_generator(random_state)
        codes = self.network_.latent.draw_prior(n, torch_generator(generator))
        quantiles = self.length_quantiles_ if self.observation == "counts" else None
        drawn = draw_rows(self.network_, codes, quantiles, generator)
        return drawn if self.terms_ is None else Counts(sparse.csr_array(drawn), self.terms_)

    @property
    def _n_features_out(self) -> int:
        return self.network_.latent.num_features

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.observation != "real"
        tags.input_tags.categorical = self.observation == "counts"  # whole numbers: there is no tag for counts
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the networks, and of counts the percentiles of lengths."""
        check_is_fitted(self, "history_")
        own = {"length_quantiles": self.length_quantiles_} if self.observation == "counts" else {}
        return network_arrays(self.network_) | own

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the terms, where the model was fitted on Counts."""
        check_is_fitted(self, "history_")
        return {} if self.terms_ is None else {"terms": self.terms_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history and the columns."""
        check_is_fitted(self, "history_")
        names = getattr(self, "feature_names_in_", None)
        return {
            "history": self.history_,
            "num_columns": self.n_features_in_,
            "column_names": None if names is None else [str(name) for name in names],
        }

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"terms"} if vocabularies else set(), "vocabularies")
        self._check_arguments()
        self.n_features_in_ = check_int("num_columns", metadata["num_columns"], at_least=1)
        if metadata["column_names"] is not None:
            self.feature_names_in_ = np.array(metadata["column_names"], dtype=object)
        self.terms_ = vocabularies.get("terms")
        if self.observation == "counts":
            self.length_quantiles_ = check_array(arrays, "length_quantiles", np.float32, (NUM_QUANTILES,))
        self.network_ = self._make_network(self.n_features_in_)
        restore_network(self.network_, arrays)
        self.history_ = metadata["history"]
