"""DENNL as an estimator: a hidden semi-Markov model for every series, from its features and few observations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float64, Int64
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gossamer.core.randomness import numpy_generator
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.data.sequences import Sequences
from gossamer.data.share import Share
from gossamer.models.markov.artifact import length_quantiles
from gossamer.models.markov.durations import DURATIONS
from gossamer.models.markov.emissions import EMISSIONS
from gossamer.models.markov.hsmm import HSMM, NextPhase
from gossamer.models.markov.inputs import Batch, check_for_fit, read_batch
from gossamer.models.markov.markov_model import NextStep
from gossamer.models.markov.neural.arguments import check_arguments, feature_dim_of, features_of, unrolled_of
from gossamer.models.markov.neural.artifact import NeuralEMArtifact
from gossamer.models.markov.neural.em_layer import observe
from gossamer.models.markov.neural.judging import judge
from gossamer.models.markov.neural.layout import Layout
from gossamer.models.markov.neural.methods import WITH_NETWORK, name_states, oracle_vectors, run_em
from gossamer.models.markov.neural.network import NeuralEMNetwork, Problem
from gossamer.models.markov.neural.regression import regress_on_features
from gossamer.models.markov.neural.training import train_network
from gossamer.models.markov.together import add_up, agree_on_size, check_divided, largest
from gossamer.models.stored_network import seeded_weights

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

DURATION_MARGIN = 1.5  # the longest duration is that of a rate this many times the largest of the common start


class NeuralEM(NeuralEMArtifact, BaseEstimator):
    """Deep EM (DENNL): a network with EM iterations as layers gives every series a hidden semi-Markov model of its own.

    All series start from one model that is fitted to them together (pooled EM). The network reads the features of a
    series and what `num_layers` EM iterations make of its observations; its weights are learned from the likelihood of
    all series (4.11). New series, with features only or with few observations, get parameters in one pass. Where the
    training data have true states, states are numbered after them.

    `gradient` passes gradients through EM layers "exact", by simultaneous perturbation ("spsa", with `perturbations`
    draws of size `c`), or not at all ("stopped"). `final` "network" lets the network have the last word, drawn towards
    EM by learned weights where `is_mixed`; "em" ends with an EM layer, as published. `hidden_share` of the steps are
    hidden from EM layers in training, so that the network learns what EM is worth on what it has not seen; `loss` is
    the likelihood of these steps given the others ("hidden"), or that of whole series (4.11, "all"). The network begins
    with what is linear in features, found by `regression_rounds` rounds of EM and ridge regression. `method` is
    "neural-em" or one of those it is compared with: "em" on each series alone, "em-mapping" (features to EM's
    parameters), "mlp-mapping" (features to parameters by likelihood), "initial-fusion" (features to the start of
    EM), "pooled-em", "oracle".
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "hidden_loglik",
        {
            "num_states": Integer(2, 8),
            "num_layers": Integer(1, 5),
            "hidden_dim": Integer(32, 256, log=True),
            "latent_dim": Integer(4, 64, log=True),
            "dropout": Real(0, 0.5),
            "learning_rate": Real(0.0005, 0.01, log=True),
        },
    )

    def __init__(
        self,
        *,
        num_states: int = 4,
        emission: str = "gaussian",
        method: str = "neural-em",
        num_layers: int = 3,
        gradient: str = "stopped",
        final: str = "network",
        loss: str = "hidden",
        is_mixed: bool = True,
        regression_rounds: int = 5,
        perturbations: int = 16,
        c: float = 0.01,
        hidden_share: float = 0.4,
        hidden_dim: int = 128,
        latent_dim: int = 16,
        dropout: float = 0.2,
        max_duration: int | None = None,
        num_starts: int = 4,
        start_epochs: int = 30,
        em_iterations: int = 30,
        tolerance: float = 1e-4,
        pseudo_count: float = 0.1,
        variance_weight: float = 1.0,
        variance_floor: float = 1e-3,
        epochs: int = 40,
        batch_size: int = 50,
        learning_rate: float = 2e-3,
        weight_decay: float = 0.01,
        patience: int | None = 8,
        random_state: int | None = 0,
    ) -> None:
        self.num_states = num_states
        self.emission = emission
        self.method = method
        self.num_layers = num_layers
        self.gradient = gradient
        self.final = final
        self.loss = loss
        self.is_mixed = is_mixed
        self.regression_rounds = regression_rounds
        self.perturbations, self.c = perturbations, c
        self.hidden_share = hidden_share
        self.hidden_dim, self.latent_dim = hidden_dim, latent_dim
        self.dropout = dropout
        self.max_duration = max_duration
        self.num_starts, self.start_epochs = num_starts, start_epochs
        self.em_iterations = em_iterations
        self.tolerance = tolerance
        self.pseudo_count = pseudo_count
        self.variance_weight = variance_weight
        self.variance_floor = variance_floor
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        data: Sequences | Share[Sequences],
        validation: Sequences | Share[Sequences] | None = None,
        *,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Fit the common start, then the network; with validation data the epoch that predicts hidden steps best stays.

        Both have features or neither has. A run that finds its `checkpoint` goes on from there. Processes that give
        shares find the common start, its regression on features and their scales from all series together.
        """
        from gossamer.training.sharing import rows_of

        self._check_arguments()
        emission = EMISSIONS[self.emission]
        (held, sharing), (watched, watching) = rows_of(data), rows_of(validation)
        check_divided(self.random_state, sharing)
        batch = read_batch(held, emission)
        check_for_fit(batch, self.num_states, tied=True, sharing=sharing)
        self.n_features_in_ = agree_on_size(emission, batch, sharing)
        self.feature_dim_ = feature_dim_of(batch, sharing)
        self.vocabulary_ = batch.vocabulary
        self.length_quantiles_ = length_quantiles(batch.offsets, sharing)
        self._fit_start(data, held, batch, sharing)
        self.network_, self.history_ = None, None
        if self.method in WITH_NETWORK:
            num_steps, num_series = add_up(np.array([len(batch.values), len(batch.offsets) - 1]), sharing).tolist()
            self.network_ = self._new_network(num_steps / num_series / self.num_states)
            self._prepare_network(self.network_, batch, sharing)
            held_out = None if watched is None else self._read(watched)
            shared: dict[str, Any] = {"sharing": sharing, "watching": watching}
            history = train_network(self, self.network_, batch, held_out, **shared, checkpoint=checkpoint, log=log)
            self.history_ = history.as_dict()
        return self

    def _fit_start(self, data: Sequences | Share[Sequences], held: Sequences, batch: Batch, sharing: Sharing) -> None:
        """Fit one model to all series and take it for the start, its states named after true ones where known."""
        shared = HSMM(
            num_states=self.num_states,
            emission=self.emission,
            max_duration=self.max_duration,
            num_starts=self.num_starts,
            epochs=self.start_epochs,
            tolerance=self.tolerance,
            pseudo_count=self.pseudo_count,
            variance_weight=self.variance_weight,
            variance_floor=self.variance_floor,
            random_state=self.random_state,
        ).fit(data)
        start = {name: torch.from_numpy(value) for name, value in shared.parameters_.items()}
        named = name_states(start, shared.predict(held), batch, sharing)
        self.start_ = {name: value.numpy() for name, value in named.items()}
        wide = {"rates": DURATION_MARGIN * named["duration.rates"]}
        longest_series = largest(int(np.diff(batch.offsets).max()), sharing)
        needed = DURATIONS["poisson"].longest(wide) or 1
        self.longest_duration_ = self.max_duration or max(2, min(needed, longest_series))
        self.prior_ = self._prior_of(batch, sharing)

    def _new_network(self, usual_count: float) -> NeuralEMNetwork:
        with seeded_weights(self.random_state):
            return NeuralEMNetwork(
                self._problem().layout.size,
                self.feature_dim_ + 1,
                self.hidden_dim,
                self.latent_dim,
                self.dropout,
                usual_count,
            )

    def _prepare_network(self, network: NeuralEMNetwork, batch: Batch, sharing: Sharing) -> None:
        """Let the network begin with the common start, and with what is linear in features."""
        problem, features = self._problem(), self._features(batch)
        network.take_start(self._start_vector(), features, sharing)
        if self.regression_rounds:
            series = observe(batch, problem.emission, self.n_features_in_)
            scaled = network.scaled(torch.from_numpy(features))
            start, rounds = self._start_vector(), self.regression_rounds
            found = regress_on_features(start, scaled, series, problem, rounds, sharing)
            network.take_regression(found.intercept, found.weights)

    def models_for(self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None) -> HSMM:
        """Return a fitted `HSMM` with a model for each of these series, in one pass and without training.

        A series may be empty: then its features alone decide. The model decodes, judges, samples and forecasts them.
        """
        check_is_fitted(self, "start_")
        batch = self._read(data, lengths, missing)
        found = HSMM(
            num_states=self.num_states,
            emission=self.emission,
            max_duration=self.longest_duration_,
            tied=False,
            pseudo_count=self.pseudo_count,
            random_state=self.random_state,
        )
        found.parameters_ = {name: value.numpy() for name, value in self._parameters(batch).items()}
        found.vocabulary_, found.n_features_in_ = self.vocabulary_, self.n_features_in_
        found.length_quantiles_, found.longest_duration_ = self.length_quantiles_, self.longest_duration_
        found.history_ = self.history_
        return found

    def _parameters(self, batch: Batch, hidden: np.ndarray | None = None) -> dict[str, Tensor]:
        """Return the parameters of every series, from its features and from those of its steps that are not hidden."""
        problem = self._problem()
        series = observe(batch, problem.emission, self.n_features_in_, hidden)
        start = self._start_tensors()
        if self.method == "em":
            limits: dict[str, Any] = {"iterations": self.em_iterations, "tolerance": self.tolerance}
            return run_em(start, series, problem, **limits)
        if self.method == "oracle":
            return problem.layout.unpack(oracle_vectors(batch, problem))
        if self.network_ is None:  # pooled EM
            num_series = len(batch.offsets) - 1
            return {name: value.repeat(num_series, *[1] * (value.ndim - 1)) for name, value in start.items()}
        self.network_.eval()
        with torch.no_grad():
            features = torch.from_numpy(self._features(batch))
            vectors = self.network_(features, series, problem, unrolled_of(self), torch.Generator())
            return problem.layout.unpack(vectors)

    def predict(
        self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None, algorithm: str = "viterbi"
    ) -> Int64[np.ndarray, " N"]:
        """Return a state for every step, each series by its own model; see `HSMM.predict`."""
        return self.models_for(data, lengths, missing=missing).predict(
            data, lengths, missing=missing, algorithm=algorithm
        )

    def predict_proba(
        self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None
    ) -> Float64[np.ndarray, "N K"]:
        """Return the probability of every state at every step, given the whole series."""
        return self.models_for(data, lengths, missing=missing).predict_proba(data, lengths, missing=missing)

    def next_observation(self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None) -> NextStep:
        """Return what is expected after the last step of every series."""
        return self.models_for(data, lengths, missing=missing).next_observation(data, lengths, missing=missing)

    def next_phase(self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None) -> NextPhase:
        """Return which phase follows the present one of every series, and how many steps are left until then."""
        return self.models_for(data, lengths, missing=missing).next_phase(data, lengths, missing=missing)

    def evaluate(self, data: Sequences) -> dict[str, float]:
        """Return how well series are described, predicted and decoded; `neural/judging.py` says by what."""
        check_is_fitted(self, "start_")
        return judge(self, data, self._read(data))

    def duration_probs(self) -> Float64[np.ndarray, "1 K D"]:
        """Return P(a phase lasts d steps), d = 1 … `longest_duration_`, of every state of the common start."""
        check_is_fitted(self, "start_")
        return self._common().duration_probs()

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the states of the common start and the most probable moves between them."""
        check_is_fitted(self, "start_")
        return self._common().explain(n)

    def _common(self) -> HSMM:
        common = HSMM(num_states=self.num_states, emission=self.emission)
        common.parameters_, common.vocabulary_ = self.start_, self.vocabulary_
        common.longest_duration_ = self.longest_duration_
        return common

    def _read(self, data: Any, lengths: Any = None, missing: Any = None) -> Batch:
        return read_batch(
            data,
            EMISSIONS[self.emission],
            lengths=lengths,
            missing=missing,
            size=self.n_features_in_,
            vocabulary=self.vocabulary_,
        )

    def _features(self, batch: Batch) -> Float64[np.ndarray, "B F+1"]:
        return features_of(batch, self.feature_dim_)

    def _start_tensors(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(value) for name, value in self.start_.items()}

    def _start_vector(self) -> Tensor:
        return self._problem().layout.pack(self._start_tensors())[0]

    def _problem(self) -> Problem:
        start, emission = self._start_tensors(), EMISSIONS[self.emission]
        layout = Layout(self.num_states, emission.shapes(self.num_states, self.n_features_in_), start)
        rate = float(start["duration.rates"].mean())
        return Problem(layout, emission, self.prior_, rate, self.longest_duration_)

    def _check_arguments(self) -> None:
        check_arguments(self)
        numpy_generator(self.random_state)
