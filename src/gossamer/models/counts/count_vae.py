"""CountVAE: nonlinear factor analysis of documents, or of anything that is counted, with refined inference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_bool, check_choice, check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.core.search_space import Choice, Integer, Real, SearchSpace
from gossamer.data.counts import Counts
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts.averaging import AveragedStep
from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.count_model import CountModel, Documents
from gossamer.models.counts.diagnostics.utilisation import USED, count_used_directions, mean_words
from gossamer.models.counts.documents import read_documents, read_training
from gossamer.models.counts.inputs import KINDS, InputFeatures
from gossamer.models.counts.module import ACTIVATIONS, Decoder, Encoder
from gossamer.models.counts.network import (
    CountNetwork,
    check_widths,
    network_arrays,
    restore_network,
    seeded_weights,
)
from gossamer.models.counts.perplexity import COVARIANCES
from gossamer.models.counts.refinement import ADAM_RATE_AFTERWARDS, ADAM_RATE_IN_TRAINING, METHODS, Refinement
from gossamer.models.counts.sampling import NUM_QUANTILES, length_quantiles
from gossamer.models.counts.sparse_layer import ROW_SPARSE_FROM
from gossamer.models.counts.step import INFERENCES, CountStep
from gossamer.persistence import JSON, check_array, check_names

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing
    from gossamer.training.step import Step


class CountVAE(CountModel):
    """A variational autoencoder of sparse counts whose posteriors are refined per document (Krishnan et al. 2018).

    z ~ N(0, I) in `latent_dim` dimensions, words drawn from softmax(W·h(z) + b), h with hidden layers `decoder_dims`
    (none: multinomial logistic PCA). An encoder with hidden layers `encoder_dims` reads the `inputs` "tfidf", "norm",
    "counts" or "l2" of a document and proposes its posterior; in training, `dropout` hides words from it.

    `inference` is what the decoder learns from: "amortised" posteriors (the usual VAE, algorithm 1), "svi" (refined
    from the prior, no encoder, algorithm 2), "refined" ones (algorithm 3), or the one and then, after the share
    `switch_at` of all epochs, the other of "refined-then-amortised" and "amortised-then-refined". Refinement is by
    `refine_method` "newton" or "adam" (the paper's), `refine_steps` steps at most (None: the method's own number),
    until a step brings no more than `refine_tolerance` nats; `keep_posteriors` refines a training document from where
    the last epoch left it. Codes and measures are refined whatever the training, unless asked otherwise.

    Perplexities are bounds by posteriors with variances alone, or with a matrix per document where `covariance` is
    "full": tighter, for linear decoders only, and while training goes on only the first are looked at.

    The KL counts `beta`, to which it rises over `annealing_epochs`. With `average_decay`, the model is the running
    mean of the networks that training passes through. `fit` takes Counts, a sparse matrix, an array or a table of whole
    numbers >= 0. With validation data, the epoch with the lowest refined perplexity per document is kept, and training
    stops after `patience` epochs without a lower one. A document without words has the prior as its posterior and zeros
    as its code; training and perplexities leave it out.
    """

    history_: JSON

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "perplexity_document_refined",
        {
            "latent_dim": Integer(10, 200, log=True),
            "decoder_dims": Choice(([], [100], [400])),
            "encoder_dims": Choice(([100], [400], [400, 400])),
            "annealing_epochs": Integer(0, 50),
            "dropout": Real(0, 0.5),
            "learning_rate": Real(0.0002, 0.005, log=True),
        },
        fixed={"patience": 10},
    )

    def __init__(
        self,
        *,
        latent_dim: int = 100,
        decoder_dims: Sequence[int] = (),
        encoder_dims: Sequence[int] = (400, 400),
        activation: str = "relu",
        inputs: str = "tfidf",
        inference: str = "refined",
        switch_at: float = 0.5,
        refine_method: str = "newton",
        refine_steps: int | None = None,
        refine_tolerance: float | None = None,
        keep_posteriors: bool = False,
        covariance: str = "diagonal",
        beta: float = 1.0,
        annealing_epochs: int = 0,
        dropout: float = 0.0,
        average_decay: float = 0.0,
        learning_rate: float = 8e-4,
        batch_size: int = 500,
        epochs: int = 200,
        patience: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.latent_dim = latent_dim
        self.decoder_dims = decoder_dims
        self.encoder_dims = encoder_dims
        self.activation = activation
        self.inputs = inputs
        self.inference = inference
        self.switch_at = switch_at
        self.refine_method = refine_method
        self.refine_steps = refine_steps
        self.refine_tolerance = refine_tolerance
        self.keep_posteriors = keep_posteriors
        self.covariance = covariance
        self.beta = beta
        self.annealing_epochs = annealing_epochs
        self.dropout = dropout
        self.average_decay = average_decay
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        data: Documents | Share[Counts],
        y: object = None,
        *,
        validation: Documents | Share[Counts] | None = None,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Train on documents; a run that finds its `checkpoint` goes on from there.

        `y` is scikit-learn's and ignored, unless it is Counts: then it is the validation data.
        """
        from gossamer.training.loop import fit as train
        from gossamer.training.sharing import rows_of

        self._check_arguments()
        held, sharing = rows_of(data)
        matrix, self.terms_ = read_training(self, held)
        sharing.check_same("terms", self.terms_)
        watched, watching = rows_of(y if validation is None and isinstance(y, Counts) else validation)
        if watched is not None:
            watched = read_documents(self, watched, self.terms_, "validation")
        self.features_ = InputFeatures(self.inputs).fit(matrix, sharing.sum)
        # Of shares it is the mean of theirs, which is near that of all and needs no gathering.
        self.length_quantiles_ = sharing.mean_array(length_quantiles(matrix), _num_filled(matrix))
        has_words = np.diff(matrix.indptr) > 0
        matrix = matrix if has_words.all() else matrix[has_words]
        inputs = self.features_.values(matrix)
        batches = sharing.batches(
            lambda rows: take_batch(matrix, inputs, rows), matrix.shape[0], self.batch_size, self.random_state
        )
        step = self._make_step(matrix.shape[0], batches.count(1))
        history = train(
            step,
            batches,
            epochs=self.epochs,
            validate=None if watched is None else lambda: self._measure_epoch(watched, watching),
            monitor="loss" if watched is None else "perplexity_document_refined",
            patience=None if watched is None else self.patience,
            checkpoint=checkpoint,
            log=log,
            description="CountVAE",
        )
        self.network_.eval()  # while `step` is here: a row-sparse optimiser brings its rows up to date
        self.history_ = history.as_dict()
        return self

    def _check_arguments(self) -> None:
        check_int("latent_dim", self.latent_dim, at_least=1)
        check_widths("decoder_dims", self.decoder_dims)
        check_widths("encoder_dims", self.encoder_dims, at_least=1)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("inputs", self.inputs, KINDS)
        check_choice("inference", self.inference, INFERENCES)
        check_real("switch_at", self.switch_at, at_least=0, at_most=1)
        check_choice("refine_method", self.refine_method, METHODS)
        if self.refine_steps is not None:
            check_int("refine_steps", self.refine_steps, at_least=0)
        if self.refine_tolerance is not None:
            check_real("refine_tolerance", self.refine_tolerance, at_least=0)
        check_bool("keep_posteriors", self.keep_posteriors)
        if check_choice("covariance", self.covariance, COVARIANCES) == "full" and len(self.decoder_dims):
            raise ValueError(f"covariance must be 'diagonal' with decoder_dims {self.decoder_dims!r}, got 'full'")
        check_real("beta", self.beta, above=0)
        check_int("annealing_epochs", self.annealing_epochs, at_least=0)
        check_real("dropout", self.dropout, at_least=0, below=1)
        check_real("average_decay", self.average_decay, at_least=0, below=1)
        check_real("learning_rate", self.learning_rate, above=0)
        check_int("batch_size", self.batch_size, at_least=1)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        numpy_generator(self.random_state)

    def _own_refinement(self, *, in_training: bool = False) -> Refinement:
        rate = ADAM_RATE_IN_TRAINING if in_training else ADAM_RATE_AFTERWARDS
        return Refinement(self.refine_method, self.refine_steps, rate, self.refine_tolerance)

    def _make_network(self) -> CountNetwork:
        num_terms = len(self.terms_)
        with seeded_weights(self.random_state):
            decoder = Decoder(num_terms, self.latent_dim, self.decoder_dims, activation=self.activation)
            if self.inference == "svi":
                return CountNetwork(None, decoder)
            encoder = Encoder(
                num_terms,
                self.latent_dim,
                self.encoder_dims,
                activation=self.activation,
                dropout=self.dropout,
                # An average is dense work at every update: nothing is left to gain.
                sparse_gradient=num_terms >= ROW_SPARSE_FROM and self.average_decay == 0,
            )
        return CountNetwork(encoder, decoder)

    def _make_step(self, num_rows: int, num_batches: int) -> Step:
        """Return what the loop calls; `network_` is what it changes in place, so validation sees the present one."""
        self.network_ = self._make_network()
        step = CountStep(
            self.network_,
            inference=self.inference,
            refinement=self._own_refinement(in_training=True),
            learning_rate=self.learning_rate,
            beta=self.beta,
            annealing_updates=self.annealing_epochs * num_batches,
            switch_update=round(self.switch_at * self.epochs) * num_batches,
            keep_posteriors=num_rows if self.keep_posteriors else 0,
            random_state=self.random_state,
        )
        if self.average_decay == 0:
            return step
        averaging = AveragedStep(step, self.network_, self.average_decay)
        averaged = averaging.averaged
        assert isinstance(averaged, CountNetwork)
        self.network_ = averaged
        return averaging

    def _measure_epoch(self, matrix: sparse.csr_array, sharing: Sharing) -> dict[str, float]:
        found = _of_all(matrix, self._measure, sharing) if sharing.is_divided else self._measure(matrix)
        words = sharing.mean({"words": mean_words(matrix)}, _num_filled(matrix))["words"]
        return found | {USED: float(count_used_directions(self.network_.decoder, words / self.beta))}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the networks, what the inputs are weighted with, and the percentiles of lengths."""
        check_is_fitted(self, "history_")
        own = {"length_quantiles": self.length_quantiles_}
        return network_arrays(self.network_) | self.features_.learned_arrays() | own

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the terms."""
        check_is_fitted(self, "history_")
        return {"terms": self.terms_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history, and whether the model was fitted on a table, whose columns have names."""
        check_is_fitted(self, "history_")
        return {"history": self.history_, "named_columns": hasattr(self, "feature_names_in_")}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"terms"}, "vocabularies")
        self._check_arguments()
        self.terms_ = vocabularies["terms"]
        self.n_features_in_ = len(self.terms_)
        if check_bool("named_columns", metadata["named_columns"]):
            self.feature_names_in_ = np.array([str(term) for term in self.terms_], dtype=object)
        self.length_quantiles_ = check_array(arrays, "length_quantiles", np.float32, (NUM_QUANTILES,))
        self.features_ = InputFeatures(self.inputs)
        if self.inputs == "tfidf":
            self.features_.restore(arrays, len(self.terms_))
        self.network_ = self._make_network()
        restore_network(self.network_, arrays)
        self.history_ = metadata["history"]


def _of_all(
    matrix: sparse.csr_array, measure: Callable[[sparse.csr_array], dict[str, float]], sharing: Sharing
) -> dict[str, float]:
    """Return the perplexities of all processes' documents: geometric means, over documents or over tokens."""
    logs = {name: math.log(value) for name, value in measure(matrix).items()} if matrix.nnz else None
    per_document = sharing.mean(logs, _num_filled(matrix))
    per_token = sharing.mean(logs, float(matrix.sum()))
    return {name: math.exp((per_token if "_token_" in name else per_document)[name]) for name in per_document}


def _num_filled(matrix: sparse.csr_array) -> int:
    return int((np.diff(matrix.indptr) > 0).sum())
