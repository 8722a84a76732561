"""`fit` of every estimator with a discrete VAE inside, and the checks of the arguments that all of them have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.share import Share
from gossamer.models.discrete.bounds import measure
from gossamer.models.discrete.discrete_model import DiscreteModel, Observations
from gossamer.models.discrete.gradients import GRADIENTS, SCORE_FUNCTION
from gossamer.models.discrete.latent import Latent
from gossamer.models.discrete.module import ACTIVATIONS, DiscreteNetwork
from gossamer.models.discrete.new_rows import length_quantiles
from gossamer.models.discrete.observations import OBSERVATIONS, Observation
from gossamer.models.discrete.rows import BINARISATIONS, Rows, read_rows
from gossamer.models.discrete.temperatures import SCHEDULES, Temperatures
from gossamer.models.discrete.training import (
    SELECTIONS,
    Schedule,
    empty_observation,
    first_observation,
    train_network,
)
from gossamer.models.stored_network import check_widths, seeded_weights

SCORE_SAMPLES = 4


class FittedByGradient(DiscreteModel):
    """A discrete VAE and how it is trained; a subclass has these arguments and says which codes it has."""

    num_features: int
    encoder_dims: Sequence[int]
    decoder_dims: Sequence[int]
    activation: str
    gradient: str
    num_samples: int | None
    temperature: float
    temperature_schedule: str
    temperature_floor: float
    learning_rate: float
    warmup: float
    cooldown: float
    batch_size: int
    epochs: int
    patience: int | None
    select: str
    random_state: int | None

    @abstractmethod
    def _make_latent(self) -> Latent:
        """Return the distribution of codes."""

    def _gate_dims(self) -> Sequence[int]:
        return ()

    def fit(
        self,
        data: Observations | Share[LabelledArrays] | Share[Counts],
        y: object = None,
        *,
        validation: Observations | Share[LabelledArrays] | Share[Counts] | None = None,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Train on observations; a run that finds its `checkpoint` goes on from there.

        `y` is scikit-learn's and ignored, unless it is a container: then it is the validation data.
        """
        from gossamer.training.sharing import rows_of

        self._check_arguments()
        held, sharing = rows_of(data)
        rows = read_rows(self, held, self.observation, reset=True)
        watched, watching = rows_of(y if validation is None and isinstance(y, LabelledArrays | Counts) else validation)
        if watched is not None:
            watched = read_rows(self, watched, self.observation, reset=False, name="validation")
        self.terms_ = held.terms if isinstance(held, Counts) else None
        if self.terms_ is not None:
            sharing.check_same("terms", self.terms_)
        observation = first_observation(self.observation, rows, self.binarisation, sharing)
        if self.observation == "counts":
            self.length_quantiles_ = sharing.mean_array(length_quantiles(rows), len(rows))
        num_batches = -(-int(sharing.sum(np.array([len(rows)]))[0]) // self.batch_size)
        self.network_ = self._assemble(observation, self.epochs * num_batches)
        history = train_network(
            self.network_,
            rows,
            Schedule(
                self.learning_rate,
                self.warmup,
                self.cooldown,
                self.batch_size,
                self.epochs,
                self.patience,
                self.select,
            ),
            sharing=sharing,
            gradient=self.gradient,
            num_samples=self._own_samples(),
            binarisation=self.binarisation if self.observation == "binary" else "none",
            random_state=self.random_state,
            validate=None if watched is None else lambda: watching.mean(self._measure_epoch(watched), len(watched)),
            description=type(self).__name__,
            checkpoint=checkpoint,
            log=log,
        )
        self.history_ = history.as_dict()
        return self

    def _own_samples(self) -> int:
        if self.num_samples is not None:
            return self.num_samples
        return SCORE_SAMPLES if self.gradient == SCORE_FUNCTION else 1

    def _check_arguments(self) -> None:
        check_int("num_features", self.num_features, at_least=1)
        check_widths("encoder_dims", self.encoder_dims)
        check_widths("decoder_dims", self.decoder_dims)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("observation", self.observation, OBSERVATIONS)
        if check_choice("binarisation", self.binarisation, BINARISATIONS) != "none" and self.observation != "binary":
            raise ValueError(
                f"binarisation must be 'none' with observation={self.observation!r}, got {self.binarisation!r}"
            )
        check_choice("gradient", self.gradient, GRADIENTS)
        if self.num_samples is not None:
            check_int("num_samples", self.num_samples, at_least=2 if self.gradient == SCORE_FUNCTION else 1)
        check_real("temperature", self.temperature, above=0)
        check_choice("temperature_schedule", self.temperature_schedule, SCHEDULES)
        check_real("temperature_floor", self.temperature_floor, above=0)
        check_real("learning_rate", self.learning_rate, above=0)
        check_real("warmup", self.warmup, at_least=0, at_most=1)
        check_real("cooldown", self.cooldown, at_least=0, at_most=1)
        check_int("batch_size", self.batch_size, at_least=1)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        check_choice("select", self.select, SELECTIONS)
        numpy_generator(self.random_state)

    def _make_network(self, num_columns: int, num_updates: int = 1) -> DiscreteNetwork:
        return self._assemble(empty_observation(self.observation, num_columns), num_updates)

    def _assemble(self, observation: Observation, num_updates: int) -> DiscreteNetwork:
        latent = self._make_latent()
        start, floor = self.temperature, self.temperature_floor
        temperatures = Temperatures(latent.num_kinds, self.temperature_schedule, start, floor, num_updates)
        with seeded_weights(self.random_state):
            return DiscreteNetwork(
                observation,
                latent,
                temperatures,
                encoder_dims=self.encoder_dims,
                decoder_dims=self.decoder_dims,
                gate_dims=self._gate_dims(),
                activation=self.activation,
            )

    def _measure_epoch(self, rows: Rows) -> Mapping[str, float]:
        was_training = self.network_.training
        found = measure(self.network_, self._blocks(rows), num_samples=1)
        self.network_.train(was_training)
        kinds = {f"temperature_{kind}": value for kind, value in enumerate(self.network_.temperatures().tolist())}
        return {"valid_hard": found["hard"], "valid_relaxed": found["relaxed"], "active": found["active"], **kinds}
