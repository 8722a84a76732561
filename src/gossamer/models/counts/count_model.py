"""What a fitted model of counts can do: codes, perplexity, recommendations, new documents, explanations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Float32
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_bool, check_choice, check_int
from gossamer.core.protocols import Recommendations
from gossamer.core.randomness import numpy_generator, torch_generator
from gossamer.core.topk import batch_rows, top_n
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts.batch import CountBatch, take_batch
from gossamer.models.counts.diagnostics.diagnosis import diagnose
from gossamer.models.counts.documents import read_documents
from gossamer.models.counts.inference import infer_all
from gossamer.models.counts.inputs import InputFeatures
from gossamer.models.counts.network import CountNetwork
from gossamer.models.counts.perplexity import COVARIANCES, PERPLEXITIES, document_bounds, perplexity_of
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refinement import Refinement
from gossamer.models.counts.sampling import draw_lengths, draw_words
from gossamer.models.counts.topics import document_names, topic_coherence, topic_tables
from gossamer.persistence import Persistent

Documents: TypeAlias = Counts | sparse.csr_array | np.ndarray
Refine: TypeAlias = bool | Refinement | None


class CountModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Persistent, BaseEstimator, ABC):
    """A decoder of codes into words, with posteriors by an encoder, by refinement, or both.

    A subclass sets what is named below in its `fit`, and says how it refines. `refine` is the same everywhere: None
    or True refines as the model's arguments say, False takes the encoder's answer, a `Refinement` is another way.
    Documents are Counts, matched by their terms' names, or a matrix or table with the columns of `fit`.
    """

    beta: float
    covariance: str
    network_: CountNetwork
    features_: InputFeatures
    terms_: Vocabulary
    length_quantiles_: np.ndarray

    @abstractmethod
    def _own_refinement(self, *, in_training: bool = False) -> Refinement:
        """Return how the arguments say that posteriors are refined."""

    def _refinement(self, refine: Refine) -> Refinement | None:
        if isinstance(refine, Refinement):
            return refine
        if refine is not None and not isinstance(refine, bool):
            raise ValueError(f"refine must be True, False, None or a Refinement, got {refine!r}")
        return None if refine is False else self._own_refinement()

    def _read(self, data: Any, name: str = "data") -> tuple[sparse.csr_array, Float[np.ndarray, " nnz"]]:
        """Return checked counts over the model's terms, and what the encoder sees of them."""
        check_is_fitted(self, "terms_")
        matrix = read_documents(self, data, self.terms_, name)
        return matrix, self.features_.values(matrix)

    def batch(self, X: Documents) -> CountBatch:
        """Return documents as the networks take them, all in one batch."""
        matrix, inputs = self._read(X)
        return take_batch(matrix, inputs, np.arange(matrix.shape[0]))

    def posterior(self, X: Documents, *, refine: Refine = None) -> Posterior:
        """Return the posterior of each document; that of a document without words is the prior."""
        return self._infer(*self._read(X), refine)

    def _infer(self, matrix: sparse.csr_array, inputs: np.ndarray, refine: Refine) -> Posterior:
        return infer_all(self.network_, matrix, inputs, self._refinement(refine), torch_generator(0), self.beta)

    def transform(
        self, X: Documents, *, sample: bool = False, refine: Refine = None, random_state: int | None = 0
    ) -> Float32[np.ndarray, "D K"]:
        """Return the code of each document: the mean of its posterior, or with `sample` a draw from it."""
        check_bool("sample", sample)
        posterior = self.posterior(X, refine=refine)
        codes = posterior.sample(torch_generator(random_state)) if sample else posterior.mean
        numbers: np.ndarray = codes.numpy()
        return numbers

    def perplexity(
        self, X: Documents, per: str = "document", *, refine: Refine = None, covariance: str | None = None
    ) -> float:
        """Return exp(mean_d(−bound_d / N_d)) per "document", or exp(−Σ bound / Σ N) per "token".

        The bound is from one sample of each posterior, so this is an upper bound on the perplexity, and the tighter
        the better the posteriors: below a linear decoder, the `covariance` "full" is better than "diagonal" (None is
        what the model's arguments say). Documents without words are left out.
        """
        check_choice("per", per, PERPLEXITIES)
        shape = self.covariance if covariance is None else check_choice("covariance", covariance, COVARIANCES)
        matrix, inputs = self._read(X)
        bounds = document_bounds(self.network_, matrix, inputs, self._refinement(refine), covariance=shape)
        return perplexity_of(bounds, matrix, per)

    def score(self, X: Documents, y: object = None) -> float:
        """Return −log of the perplexity per document, so that higher is better; `y` is scikit-learn's."""
        del y
        return -math.log(self.perplexity(X))

    def evaluate(self, data: Documents) -> dict[str, float]:
        """Return both perplexities, with the encoder's posteriors and with refined ones, and the topics' coherence.

        Coherence (NPMI) and diversity are of the ten terms that each direction raises most, by how they come together
        in `data`. A network without encoder has the prior where others have the encoder's answer.
        """
        check_is_fitted(self, "terms_")
        matrix = read_documents(self, data, self.terms_)
        found = self._measure(matrix, self.covariance)
        return found | topic_coherence(self.network_.decoder, matrix) if matrix.shape[1] > 1 else found

    def _measure(self, matrix: sparse.csr_array, covariance: str = "diagonal") -> dict[str, float]:
        inputs = self.features_.values(matrix)
        bounds = {
            "amortised": document_bounds(self.network_, matrix, inputs, None),
            "refined": document_bounds(self.network_, matrix, inputs, self._own_refinement(), covariance=covariance),
        }
        return {
            f"perplexity_{per}_{how}": perplexity_of(found, matrix, per)
            for per in PERPLEXITIES
            for how, found in bounds.items()
        }

    def recommend(
        self, X: Documents | Interactions, n: int = 10, *, exclude_seen: bool = True, refine: Refine = None
    ) -> Recommendations:
        """Return the n likeliest terms of each row at the mean of its posterior, as indices into `terms_`.

        Scores are log-probabilities. With `exclude_seen` the terms of the row itself are left out. Log-probabilities of
        one block of rows exist at a time, never rows × terms.
        """
        check_is_fitted(self, "terms_")
        check_int("n", n, at_least=1)
        check_bool("exclude_seen", exclude_seen)
        matrix, inputs = self._read(X, "history")
        means = self._infer(matrix, inputs, refine).mean
        items = np.empty((matrix.shape[0], n), dtype=np.int32)
        scores = np.empty((matrix.shape[0], n), dtype=np.float32)
        begin = 0
        for log_probs in self._log_probs(means):
            rows = slice(begin, begin + len(log_probs))
            items[rows], scores[rows] = top_n(log_probs, n, matrix[rows] if exclude_seen else None)
            begin = rows.stop
        return Recommendations(items, scores)

    def _log_probs(self, codes: Float[torch.Tensor, "D K"]) -> Iterator[Float32[np.ndarray, "B V"]]:
        """Yield the log-probabilities of all terms, for as many codes at a time as memory allows."""
        size = batch_rows(len(self.terms_))
        for begin in range(0, len(codes), size):
            with torch.no_grad():
                logits = self.network_.decoder.logits(codes[begin : begin + size])
                yield logits.log_softmax(dim=1).numpy()

    def sample(self, n: int, *, random_state: int | None = None) -> Counts:
        """Return n new documents: codes from the prior, words by the decoder, as many as training documents have."""
        check_is_fitted(self, "terms_")
        check_int("n", n, at_least=1)
        generator = numpy_generator(random_state)
        lengths = draw_lengths(self.length_quantiles_, n, generator)
        codes = torch.from_numpy(generator.standard_normal((n, self.network_.decoder.latent_dim), dtype=np.float32))
        probs = (np.exp(log_probs) for log_probs in self._log_probs(codes))
        return Counts(draw_words(probs, lengths, generator), self.terms_)

    def item_vectors(self) -> Float32[np.ndarray, "M D"]:
        """Return the last layer of the decoder: what makes each term likely."""
        check_is_fitted(self, "terms_")
        return self.network_.decoder.weight.detach().numpy()

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the n strongest latent directions with the ten terms that each raises most and lowers most."""
        check_is_fitted(self, "terms_")
        check_int("n", n, at_least=1)
        return {name: rows[:n] for name, rows in topic_tables(self.network_.decoder, self.terms_).items()}

    def diagnose(self, data: Documents, training: Documents | None = None) -> dict[str, Any]:
        """Return the diagnostics of the report on held-out `data`; which terms are rare is counted in `training`."""
        matrix, inputs = self._read(data)
        known = None if training is None else read_documents(self, training, self.terms_, "training")
        return diagnose(
            self.network_,
            matrix,
            inputs,
            self._own_refinement(),
            self.terms_,
            training=known,
            beta=self.beta,
            names=document_names(data),
        )

    @property
    def items_(self) -> Vocabulary:
        """The terms, by the name under which a recommender has its items."""
        return self.terms_

    @property
    def _n_features_out(self) -> int:
        """How many columns a code has, for scikit-learn's names of them."""
        return self.network_.decoder.latent_dim

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # whole numbers: scikit-learn has no tag for counts
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
