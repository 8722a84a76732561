"""Probabilities of categories: one event per step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gossamer.data.vocabulary import Vocabulary
from gossamer.models.markov.emissions.family import (
    Observed,
    Parameters,
    Prior,
    dirichlet_log_prior,
    dirichlet_mode,
    log_probs,
)
from gossamer.models.markov.together import add_up

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

START_DIM = 16


class Categorical:
    """P(x = v | k) = `probs`[k, v]; φ, the indicator of the category, is kept as its number: there may be many."""

    def check(self, values: np.ndarray, missing: np.ndarray | None, size: int | None) -> np.ndarray:
        """Return categories as integers, -1 where missing."""
        codes = np.asarray(values)
        if codes.ndim == 2 and codes.shape[1] == 1:
            codes = codes[:, 0]
        if codes.ndim != 1:
            raise ValueError(f"data must have one category per step for 'categorical', got shape {codes.shape}")
        is_missing = np.isnan(codes) if codes.dtype.kind == "f" else np.zeros(len(codes), dtype=bool)
        if missing is not None:
            is_missing = is_missing | (missing if missing.ndim == 1 else missing[:, 0])
        present = codes[~is_missing]
        if (present != np.floor(present)).any() or (present < 0).any():
            wrong = present[(present != np.floor(present)) | (present < 0)][0]
            raise ValueError(f"data must be categories 0, 1, 2 … for 'categorical', got {wrong}")
        if size is not None and len(present) and present.max() >= size:
            raise ValueError(
                f"data must have categories below {size}, the number of those in the fit, got the unseen category "
                f"{int(present.max())}"
            )
        return np.where(is_missing, -1, np.nan_to_num(codes.astype(np.float64), nan=-1)).astype(np.int64)

    def size_of(self, values: np.ndarray, vocabulary: Vocabulary | None) -> int:
        """Return the number of categories: those of the vocabulary, or as many as the largest number says."""
        return int(values.max(initial=0)) + 1 if vocabulary is None else len(vocabulary)

    def observe(self, values: np.ndarray, size: int, shift: Float[Tensor, " D"] | None = None) -> Observed:
        """Return the categories; the number of columns is all that φ is asked for."""
        del shift
        return Observed(torch.zeros(0, size, dtype=torch.double), codes=torch.from_numpy(values))

    def prior_for(self, observed: Observed, values: np.ndarray, prior: Prior, sharing: Sharing | None = None) -> Prior:
        """Return the prior as it is, or raise a ValueError where there is only one category."""
        counts = np.bincount(values[values >= 0], minlength=observed.features.shape[1])
        if np.count_nonzero(add_up(counts, sharing)) < 2:
            raise ValueError(f"data must have at least two categories, got only {values.max(initial=-1)}")
        return prior

    def start_features(
        self, values: np.ndarray, size: int, generator: np.random.Generator, sharing: Sharing | None = None
    ) -> np.ndarray:
        """Return random vectors of the categories, averaged over a few neighbouring steps: what occurs together."""
        del sharing  # a category has the same vector on every process, by the seed
        vectors = np.vstack([generator.standard_normal((size, START_DIM)), np.zeros(START_DIM)])[values]
        kernel = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9
        return np.stack([np.convolve(column, kernel, mode="same")[: len(column)] for column in vectors.T], axis=1)

    def log_density(
        self, observed: Observed, parameters: Parameters, series: Int64[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N K"]:
        """Return log P(category | k), 0 where missing."""
        assert observed.codes is not None
        logs, codes = log_probs(parameters["probs"]), observed.codes
        known = codes.clamp_min(0)
        density = logs[0].T[known] if len(logs) == 1 else logs[series, :, known]
        return torch.where((codes >= 0)[:, None], density, 0.0)

    def maximise(
        self, sums: Float[Tensor, "P K F"], observed: Observed, prior: Prior, previous: Parameters | None
    ) -> Parameters:
        """Return shares of the categories, pseudo-counts added."""
        del observed
        return {"probs": dirichlet_mode(sums, prior.pseudo_count, None if previous is None else previous["probs"])}

    def log_prior(self, parameters: Parameters, prior: Prior) -> Float[Tensor, " P"]:
        """Return the log of the Dirichlet prior."""
        return dirichlet_log_prior(parameters["probs"], prior.pseudo_count)

    def shapes(self, num_states: int, size: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of the probabilities."""
        return {"probs": (num_states, size)}

    def num_free(self, num_states: int, size: int) -> int:
        """Return the number of probabilities, less one per state."""
        return num_states * (size - 1)

    def expected(self, parameters: Parameters) -> Float[Tensor, "P K D"]:
        """Return the probabilities of the categories."""
        return parameters["probs"]

    def sample(
        self, parameters: Parameters, states: np.ndarray, series: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Draw a category for every step."""
        cumulative = parameters["probs"].numpy().cumsum(axis=-1)
        bounds = cumulative[series, states]
        uniform = generator.random((len(states), 1)) * bounds[:, -1:]
        drawn: np.ndarray = (uniform >= bounds).sum(axis=1)
        return drawn
