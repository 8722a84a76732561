"""What HMM and HSMM share: reading data, EM in the loop, decoding, judging and sampling."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import torch
from jaxtyping import Float64, Int64
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_bool, check_choice, check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.data.sequences import Sequences
from gossamer.data.share import Share
from gossamer.models.markov import labels, starts
from gossamer.models.markov.artifact import MarkovArtifact, length_quantiles
from gossamer.models.markov.chains import Chain
from gossamer.models.markov.emissions import EMISSIONS, Emission, Parameters, Prior, owner_sums
from gossamer.models.markov.inputs import Batch, check_for_fit, read_batch
from gossamer.models.markov.ragged import sequence_numbers
from gossamer.models.markov.step import EMISSION, EMStep, emission_part, whole_data
from gossamer.models.markov.together import add_up, add_up_tensors, agree_on_size, check_divided
from gossamer.models.markov.uncertainty import standard_errors
from gossamer.persistence import JSON

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing


class NextStep(NamedTuple):
    """What the step after the last will be, for every series: the probabilities of states and the mean observation.

    `expected` holds means, rates, or the probabilities of categories.
    """

    state_probs: Float64[np.ndarray, "B K"]
    expected: Float64[np.ndarray, "B D"]


class MarkovModel(MarkovArtifact, BaseEstimator):
    """The estimators' common part; a subclass says which chain the hidden states are."""

    num_states: int
    emission: str
    tied: bool
    num_starts: int
    start_epochs: int
    epochs: int
    tolerance: float
    pseudo_count: float
    variance_weight: float
    variance_floor: float
    patience: int | None
    random_state: int | None

    @abstractmethod
    def _new_chain(self, batch: Batch, guess: np.ndarray, sharing: Sharing) -> Chain:
        """Return the chain to be fitted, sized by all processes' data and by a first guess of their states."""

    def _remember_chain(self, chain: Chain) -> None:
        """Keep what the chain has besides its parameters."""

    @property
    def learns_from_shares(self) -> bool:
        """Whether series that processes have divided among them will do: one model for all is everybody's."""
        return bool(self.tied)

    def fit(
        self,
        data: Sequences | np.ndarray | Share[Sequences],
        validation: Sequences | Share[Sequences] | None = None,
        *,
        lengths: Any = None,
        missing: Any = None,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Run EM from several starts; a run that finds its `checkpoint` goes on from there.

        `data` are `Sequences`, or a matrix (N, D) of all series, one below the other, with their `lengths`; `missing`
        is True where a value is missing, which NaN says as well. With validation data, the epoch with the best held-out
        likelihood is kept, and EM stops after `patience` epochs without a better one; else it stops when an epoch
        raises the penalised log-likelihood per step by less than `tolerance`.

        Processes that give shares add up what each expects of its own series and end with one model, that of a process
        with all of them; k-means sees a sample of everybody's steps.
        """
        from gossamer.training.loop import fit as train
        from gossamer.training.sharing import rows_of

        self._check_arguments()
        emission = EMISSIONS[self.emission]
        generator = numpy_generator(self.random_state)
        (held, sharing), (watched, watching) = rows_of(data), rows_of(validation)
        self._check_divided(sharing)
        batch = read_batch(held, emission, lengths=lengths, missing=missing)
        check_for_fit(batch, self.num_states, self.tied, sharing)
        self._check_validation(watched)
        self.n_features_in_ = agree_on_size(emission, batch, sharing)
        self.vocabulary_ = batch.vocabulary
        self.length_quantiles_ = length_quantiles(batch.offsets, sharing)
        step = self._new_step(batch, emission, generator, sharing)
        self._remember_chain(step.chain)

        def loglik(rows: Sequences) -> dict[str, float]:
            return {"valid_loglik": self._mean_log_likelihood(self._read(rows))}

        def validate() -> dict[str, float]:
            assert watched is not None
            self._take(step)
            return watching.measure(loglik, watched, len(watched.observations))

        history = train(
            step,
            whole_data(),
            epochs=self.epochs,
            validate=None if validation is None else validate,
            monitor="settled_loss" if validation is None else "valid_loglik",
            mode="min" if validation is None else "max",
            patience=1 if validation is None else self.patience,
            restore_best=validation is not None,
            checkpoint=checkpoint,
            log=log,
            description=type(self).__name__,
        )
        self._take(step)
        self.history_: JSON = history.as_dict()
        return self

    def _new_step(self, batch: Batch, emission: Emission, generator: np.random.Generator, sharing: Sharing) -> EMStep:
        observed = emission.observe(batch.values, self.n_features_in_)
        prior = Prior(self.pseudo_count, self.variance_weight, self.variance_floor)
        prior = emission.prior_for(observed, batch.values, prior, sharing)
        if sharing.is_divided:  # sums of φ can be added only where all processes have shifted their data alike
            observed = emission.observe(batch.values, self.n_features_in_, prior.centre)
        features = emission.start_features(batch.values, self.n_features_in_, generator, sharing)
        guesses = [
            starts.cluster_labels(features, batch.is_missing, self.num_states, generator, sharing)
            for _ in range(self.num_starts)
        ]
        chain = self._new_chain(batch, guesses[0], sharing)
        num_owners = 1 if self.tied else len(batch.offsets) - 1
        candidates = []
        for guess in guesses:
            weights = torch.nn.functional.one_hot(torch.from_numpy(guess), self.num_states).double()
            (sums,) = add_up_tensors([owner_sums(observed, weights, None, 1)], sharing)
            found = emission.maximise(sums, observed, prior, None)
            start = chain.start(guess, batch.offsets, self.num_states, sharing)
            start |= {EMISSION + name: value for name, value in found.items()}
            # Models of single series begin with what is common to all: their states keep one meaning.
            candidates.append(
                {name: value.repeat(num_owners, *[1] * (value.ndim - 1)) for name, value in start.items()}
            )
        return EMStep(
            chain,
            emission,
            observed,
            batch.offsets,
            candidates,
            prior,
            num_observed=int(add_up(np.array([(~batch.is_missing).sum()]), sharing)[0]),
            start_epochs=self.start_epochs,
            tolerance=self.tolerance,
            sharing=sharing,
        )

    def _check_divided(self, sharing: Sharing) -> None:
        if sharing.is_divided and not self.tied:
            raise ValueError("tied must be True where processes divide the series, got False")
        check_divided(self.random_state, sharing)

    def _check_validation(self, validation: object) -> None:
        if validation is not None and not isinstance(validation, Sequences):
            raise ValueError(
                f"validation must be Sequences, got {type(validation).__name__}; "
                "give lengths by name: fit(X, lengths=…)"
            )
        if validation is not None and not self.tied:
            raise ValueError("validation must be None where tied is False: every model belongs to one series")

    def _take(self, step: EMStep) -> None:
        self.parameters_ = {name: value.numpy().copy() for name, value in step.parameters.items()}
        self._remember_chain(step.chain)

    def _check_arguments(self) -> None:
        check_int("num_states", self.num_states, at_least=1)
        check_choice("emission", self.emission, EMISSIONS)
        check_bool("tied", self.tied)
        check_int("num_starts", self.num_starts, at_least=1)
        check_int("start_epochs", self.start_epochs, at_least=1)
        check_int("epochs", self.epochs, at_least=1)
        check_real("tolerance", self.tolerance, at_least=0)
        check_real("pseudo_count", self.pseudo_count, at_least=0)
        check_real("variance_weight", self.variance_weight, at_least=0)
        check_real("variance_floor", self.variance_floor, above=0, below=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        numpy_generator(self.random_state)

    def predict(
        self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None, algorithm: str = "viterbi"
    ) -> Int64[np.ndarray, " N"]:
        """Return a state for every step: those of the best path ("viterbi"), or the likeliest of each ("posterior")."""
        check_is_fitted(self, "parameters_")
        check_choice("algorithm", algorithm, ["viterbi", "posterior"])
        if algorithm == "posterior":
            return np.asarray(self.predict_proba(data, lengths, missing=missing).argmax(axis=1))
        batch = self._read(data, lengths, missing)
        found = self._fitted_chain().best_path(self._tensors(), self._log_density(batch), batch.offsets)
        return found.numpy()

    def predict_proba(
        self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None
    ) -> Float64[np.ndarray, "N K"]:
        """Return the probability of every state at every step, given the whole series."""
        check_is_fitted(self, "parameters_")
        batch = self._read(data, lengths, missing)
        return self._fitted_chain().expect(self._tensors(), self._log_density(batch), batch.offsets).states.numpy()

    def score(self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None) -> float:
        """Return the log-likelihood of all series together, as hmmlearn does."""
        check_is_fitted(self, "parameters_")
        return float(self._log_likelihood(self._read(data, lengths, missing)).sum())

    def evaluate(self, data: Sequences) -> dict[str, float]:
        """Return "loglik", per step, and where true states are known, how many of them the best path has right.

        States of a fitted model are in no order, so "matched_accuracy" gives each true state to one of the model's in
        the best way; "label_accuracy" takes numbers as they are.
        """
        check_is_fitted(self, "parameters_")
        batch = self._read(data)
        measured = {"loglik": self._mean_log_likelihood(batch)}
        if batch.states is not None:
            found = self.predict(data)
            measured["label_accuracy"] = labels.label_accuracy(found, batch.states)
            measured["matched_accuracy"] = labels.matched_accuracy(found, batch.states)
        return measured

    def next_observation(self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None) -> NextStep:
        """Return what is expected after the last step of every series."""
        check_is_fitted(self, "parameters_")
        batch = self._read(data, lengths, missing)
        parameters = self._tensors()
        states = self._fitted_chain().next_states(parameters, self._log_density(batch), batch.offsets)
        expected = EMISSIONS[self.emission].expected(emission_part(parameters)).expand(len(states), -1, -1)
        return NextStep(states.numpy(), torch.einsum("bk,bkd->bd", states, expected).numpy())

    def sample(self, n: int, *, length: int | None = None, random_state: int | None = None) -> Sequences:
        """Return n new series with their states, of this length or as long as those of the training data.

        Where every series has its own model, series i is drawn from model i.
        """
        check_is_fitted(self, "parameters_")
        check_int("n", n, at_least=1)
        generator = numpy_generator(random_state)
        parameters = self._tensors()
        num_owners = len(parameters["initial"])
        if num_owners > 1 and n != num_owners:
            raise ValueError(f"n must be {num_owners}, one series of every model, got {n}")
        if length is None:
            sizes = np.maximum(1, np.round(generator.choice(self.length_quantiles_, n))).astype(np.int64)
        else:
            sizes = np.full(n, check_int("length", length, at_least=1))
        states = self._fitted_chain().sample(parameters, sizes, generator)
        series = np.repeat(np.arange(n), sizes) if num_owners > 1 else np.zeros(len(states), dtype=np.int64)
        drawn = EMISSIONS[self.emission].sample(emission_part(parameters), states, series, generator)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return Sequences(drawn, offsets, states=states, vocabulary=self.vocabulary_)

    def standard_errors(
        self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None
    ) -> dict[str, Float64[np.ndarray, ...]]:
        """Return how sure each of `parameters_` is after these data, in its own units and shape.

        From the observed information (minus the second derivatives of the log-likelihood), without the prior; NaN where
        the data say nothing of a parameter, and 0 for a probability that is exactly 0 or 1, which has nowhere to go.
        Costs about two passes over the data per parameter.
        """
        check_is_fitted(self, "parameters_")
        batch = self._read(data, lengths, missing)
        emission = EMISSIONS[self.emission]
        observed = emission.observe(batch.values, self.n_features_in_)
        return standard_errors(self._fitted_chain(), emission, self._tensors(), observed, batch.offsets)

    @property
    def num_free_parameters(self) -> int:
        """How many numbers the fit could choose, all models together."""
        check_is_fitted(self, "parameters_")
        emission = EMISSIONS[self.emission].num_free(self.num_states, self.n_features_in_)
        return len(self.parameters_["initial"]) * (emission + self._fitted_chain().num_free(self.num_states))

    def bic(self, data: Sequences | np.ndarray, lengths: Any = None, *, missing: Any = None) -> float:
        """Return Schwarz's criterion, -2 log L + parameters · log(observed steps): the smaller, the better."""
        check_is_fitted(self, "parameters_")
        batch = self._read(data, lengths, missing)
        cost = self.num_free_parameters * np.log(max(1, int((~batch.is_missing).sum())))
        return float(cost - 2 * self._log_likelihood(batch).sum())

    def _read(self, data: Any, lengths: Any = None, missing: Any = None) -> Batch:
        batch = read_batch(
            data,
            EMISSIONS[self.emission],
            lengths=lengths,
            missing=missing,
            size=self.n_features_in_,
            vocabulary=self.vocabulary_,
        )
        num_series, num_owners = len(batch.offsets) - 1, len(self.parameters_["initial"])
        if (np.diff(batch.offsets) == 0).any():
            empty = int(np.flatnonzero(np.diff(batch.offsets) == 0)[0])
            raise ValueError(f"every series must have at least one step, got none in series {empty}")
        if num_owners > 1 and num_series != num_owners:
            raise ValueError(
                f"data must have the {num_owners} series of the fit, because each has its own model, got {num_series}"
            )
        return batch

    def _tensors(self) -> Parameters:
        return {name: torch.from_numpy(value) for name, value in self.parameters_.items()}

    def _log_density(self, batch: Batch) -> torch.Tensor:
        emission = EMISSIONS[self.emission]
        series = None if len(self.parameters_["initial"]) == 1 else sequence_numbers(batch.offsets)
        observed = emission.observe(batch.values, self.n_features_in_)
        return emission.log_density(observed, emission_part(self._tensors()), series)

    def _log_likelihood(self, batch: Batch) -> torch.Tensor:
        return self._fitted_chain().log_likelihood(self._tensors(), self._log_density(batch), batch.offsets)

    def _mean_log_likelihood(self, batch: Batch) -> float:
        return float(self._log_likelihood(batch).sum()) / max(1, len(batch.values))
