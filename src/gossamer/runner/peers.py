"""Adapters that give other libraries' models our face, so that one runner judges all on the same split.

    pip install 'gossamer[bench]'

Nothing of a peer is imported before it is fitted. Peers are judged at their best: settings are searched with the same
budget as ours, and where a peer's own threads and those of BLAS fight over cores, BLAS is limited inside the call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from gossamer.core.protocols import Recommendations
from gossamer.core.topk import batch_rows, top_n
from gossamer.data.counts import Counts
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.coherence import npmi, topic_diversity
from gossamer.metrics.likelihood import perplexity_per_document, perplexity_per_token
from gossamer.metrics.topic_likelihood import lda_bounds
from gossamer.runner.category_peers import CategoryPeer, FeatureCategory, MostFrequentCategory
from gossamer.runner.label_peers import LabelPeer, SklearnChains, SklearnCountForest, SklearnLabelForest
from gossamer.runner.network_peers import TorchPruning
from gossamer.runner.requiring import require
from gossamer.runner.specs import PEER_PREFIX


class Peer(ABC):
    """Another library's recommender behind `fit` and `recommend`: binary interactions in, ranked items out."""

    library: str
    blas_threads: int | None = None
    items_: Vocabulary

    def fit(self, data: Interactions, validation: HeldOut | None = None) -> Self:
        """Fit on binary interactions; peers choose nothing on validation data."""
        del validation
        self.items_ = data.items
        with threadpool_limits(self.blas_threads, user_api="blas"):
            self._learn(sparse.csr_matrix(data.matrix(), copy=True))  # ours is read-only, which implicit refuses
        return self

    def recommend(self, history: Interactions, n: int = 10, *, exclude_seen: bool = True) -> Recommendations:
        """Return the n best items for every row of `history`, whose users may be new."""
        known = history.aligned_to(self.items_).matrix()
        size = batch_rows(len(self.items_))
        blocks = []
        for start in range(0, max(1, known.shape[0]), size):
            rows = known[start : start + size]
            with threadpool_limits(self.blas_threads, user_api="blas"):
                scores = np.array(self._scores(sparse.csr_matrix(rows, copy=True)), dtype=np.float32)
            blocks.append(top_n(scores, n, rows if exclude_seen else None))
        items, scores = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return Recommendations(items, scores)

    @abstractmethod
    def _learn(self, matrix: sparse.csr_matrix) -> None:
        """Fit the library's model."""

    @abstractmethod
    def _scores(self, history: sparse.csr_matrix) -> np.ndarray:
        """Return a dense block of scores for the rows of `history`."""


class ImplicitALS(Peer):
    """`implicit.als.AlternatingLeastSquares`; new users are folded in with the library's own solver."""

    library = "implicit"
    blas_threads = 1

    def __init__(
        self,
        *,
        factors: int = 64,
        regularization: float = 0.01,
        alpha: float = 1.0,
        iterations: int = 15,
        random_state: int = 0,
    ) -> None:
        self.arguments = {
            "factors": factors,
            "regularization": regularization,
            "alpha": alpha,
            "iterations": iterations,
            "random_state": random_state,
        }

    def _learn(self, matrix: sparse.csr_matrix) -> None:
        self.model_ = require("implicit.als").AlternatingLeastSquares(use_gpu=False, **self.arguments)
        self.model_.fit(matrix, show_progress=False)

    def _scores(self, history: sparse.csr_matrix) -> np.ndarray:
        users = self.model_.recalculate_user(np.arange(history.shape[0]), history)
        return np.asarray(users @ self.model_.item_factors.T)


class _Irspack(Peer):
    """Any recommender of irspack that scores new users from their row."""

    library = "irspack"
    class_name: str
    arguments: dict[str, Any]

    def _learn(self, matrix: sparse.csr_matrix) -> None:
        cls = getattr(require("irspack"), self.class_name)
        # Doubles inside, as everywhere in irspack.
        self.model_ = cls(matrix.astype(np.float64), **self.arguments)
        with redirect_stdout(StringIO()):  # irspack draws a progress bar on standard output
            self.model_.learn()

    def _scores(self, history: sparse.csr_matrix) -> np.ndarray:
        return np.asarray(self.model_.get_score_cold_user(history.astype(np.float64)))


class IrspackEASE(_Irspack):
    """`irspack.DenseSLIMRecommender`, which is EASE."""

    class_name = "DenseSLIMRecommender"

    def __init__(self, *, reg: float = 1.0) -> None:
        self.arguments = {"reg": reg}


class IrspackIALS(_Irspack):
    """`irspack.IALSRecommender`, implicit ALS in the formulation of Rendle et al. (2021)."""

    class_name = "IALSRecommender"

    def __init__(
        self,
        *,
        n_components: int = 20,
        alpha0: float = 0.0,
        reg: float = 0.001,
        nu: float = 1.0,
        train_epochs: int = 16,
        random_state: int = 0,
    ) -> None:
        self.arguments = {
            "n_components": n_components,
            "alpha0": alpha0,
            "reg": reg,
            "nu": nu,
            "train_epochs": train_epochs,
            "random_seed": random_state,
        }


class IrspackSLIM(_Irspack):
    """`irspack.SLIMRecommender`, elastic net per item."""

    class_name = "SLIMRecommender"

    def __init__(self, *, alpha: float = 0.05, l1_ratio: float = 0.01, n_iter: int = 100) -> None:
        self.arguments = {"alpha": alpha, "l1_ratio": l1_ratio, "n_iter": n_iter}


class TopicPeer(ABC):
    """Another library's LDA behind `fit` and `evaluate`, judged by our bound from its topics and its prior alone.

    Libraries stop their own inference when they like and add up other things, so their perplexities do not compare.
    `lda_bounds` infers each document to the end; as that is refined inference, both names have its value.
    """

    library: str
    topics_: np.ndarray
    prior_: np.ndarray

    def fit(self, data: Counts, validation: Counts | None = None) -> Self:
        """Fit on counts; peers choose nothing on validation data."""
        del validation
        with threadpool_limits(1, user_api="blas"):
            topics, prior = self._learn(sparse.csr_matrix(data.matrix, copy=True))
        self.topics_ = np.asarray(topics, dtype=np.float64)
        self.topics_ /= self.topics_.sum(axis=1, keepdims=True)
        self.prior_ = np.asarray(prior, dtype=np.float64)
        return self

    def evaluate(self, data: Counts) -> dict[str, float]:
        """Return the perplexity per document and per token of documents that have words, and the topics' coherence.

        Coherence (NPMI) and diversity are of each topic's ten likeliest terms, as `CountVAE.evaluate` has them.
        """
        lengths = np.asarray(data.matrix.sum(axis=1), dtype=np.float64)
        has_words = lengths > 0
        bounds, lengths = lda_bounds(data.matrix[has_words], self.topics_, self.prior_), lengths[has_words]
        found = {
            "document": perplexity_per_document(bounds, lengths),
            "token": perplexity_per_token(bounds, lengths),
        }
        perplexities = {f"perplexity_{per}_{how}": found[per] for per in found for how in ("amortised", "refined")}
        first = np.argsort(-self.topics_, axis=1, kind="stable")[:, :10]
        coherence = float(npmi(first, data.matrix).mean()) if first.shape[1] > 1 else float("nan")
        return perplexities | {"npmi": coherence, "topic_diversity": topic_diversity(first)}

    @abstractmethod
    def _learn(self, matrix: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        """Fit the library's model; return its topics (K × V, of any scale) and the prior of a document's topics (K)."""


class SklearnLDA(TopicPeer):
    """`sklearn.decomposition.LatentDirichletAllocation`, variational, with its online updates by default."""

    library = "scikit-learn"

    def __init__(
        self,
        *,
        n_components: int = 50,
        doc_topic_prior: float | None = None,
        topic_word_prior: float | None = None,
        learning_method: str = "online",
        batch_size: int = 500,
        max_iter: int = 20,
        random_state: int = 0,
    ) -> None:
        self.arguments = {
            "n_components": n_components,
            "doc_topic_prior": doc_topic_prior,
            "topic_word_prior": topic_word_prior,
            "learning_method": learning_method,
            "batch_size": batch_size,
            "max_iter": max_iter,
            "random_state": random_state,
        }

    def _learn(self, matrix: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        model = require("sklearn.decomposition").LatentDirichletAllocation(**self.arguments)
        model.fit(matrix)
        return model.components_, np.full(model.n_components, model.doc_topic_prior_)


class TomotopyLDA(TopicPeer):
    """`tomotopy.LDAModel`, collapsed Gibbs sampling that learns the prior; one worker, or seeds mean nothing."""

    library = "tomotopy"

    def __init__(
        self, *, k: int = 50, alpha: float = 0.1, eta: float = 0.01, iterations: int = 1000, random_state: int = 0
    ) -> None:
        self.arguments = {"k": k, "alpha": alpha, "eta": eta, "seed": random_state}
        self.iterations = iterations

    def _learn(self, matrix: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        model = require("tomotopy").LDAModel(**self.arguments)
        names = np.array([str(term) for term in range(matrix.shape[1])])
        for begin, end in pairwise(matrix.indptr):
            if end > begin:
                repeats = matrix.data[begin:end].astype(np.int64)
                model.add_doc(np.repeat(names[matrix.indices[begin:end]], repeats).tolist())
        model.train(self.iterations, workers=1)
        # What it gives is counts + eta; of a term that no document has, it knows nothing.
        topics = np.full((model.k, matrix.shape[1]), float(model.eta))
        known = np.array([int(name) for name in model.used_vocabs])
        for topic in range(model.k):
            topics[topic, known] = model.get_topic_word_dist(topic, normalize=False)
        return topics, np.asarray(model.alpha)


AnyPeer: TypeAlias = Peer | TopicPeer | LabelPeer | SklearnCountForest | CategoryPeer | TorchPruning

PEERS: dict[str, type[AnyPeer]] = {
    "implicit-als": ImplicitALS,
    "feature-category": FeatureCategory,
    "irspack-ease": IrspackEASE,
    "irspack-ials": IrspackIALS,
    "irspack-slim": IrspackSLIM,
    "most-frequent-category": MostFrequentCategory,
    "sklearn-chains": SklearnChains,
    "sklearn-count-forest": SklearnCountForest,
    "sklearn-label-forest": SklearnLabelForest,
    "sklearn-lda": SklearnLDA,
    "tomotopy-lda": TomotopyLDA,
    "torch-pruning": TorchPruning,
}


def find(name: str) -> type[AnyPeer]:
    """Return the adapter of a peer."""
    if name not in PEERS:
        raise ValueError(f"peer must be one of {', '.join(PEERS)}, got {name!r}")
    return PEERS[name]


def libraries(model: str) -> tuple[str, ...]:
    """Return the libraries a model needs beyond ours: that of a peer, none otherwise."""
    return (find(model.removeprefix(PEER_PREFIX)).library,) if model.startswith(PEER_PREFIX) else ()
