"""Strengths of categories (section 4.7.2): how much of a step, of clicks or of interest, went into each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gossamer.data.vocabulary import Vocabulary
from gossamer.models.markov.emissions.categorical import Categorical
from gossamer.models.markov.emissions.family import (
    IMPOSSIBLE,
    SURELY_IMPOSSIBLE,
    Observed,
    Parameters,
    Prior,
    check_matrix,
    log_probs,
    natural_log_density,
)
from gossamer.models.markov.together import add_up

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing


class Multinomial(Categorical):
    """log p(x | k) = Σ_v x_v log `probs`[k, v] for strengths x ≥ 0; φ(x) = x.

    Strengths need not be whole. Those of a step may sum to one, as the paper's do, or to the number of events, and then
    count accordingly. The multinomial coefficient is left out: it is the same for all states. A step
    without strength says nothing.
    """

    def check(self, values: np.ndarray, missing: np.ndarray | None, size: int | None) -> np.ndarray:
        """Return a matrix of strengths, whole rows NaN where missing."""
        matrix = check_matrix(values, missing, size)
        if (matrix < 0).any():
            raise ValueError(f"data must be strengths >= 0 for 'multinomial', got {np.nanmin(matrix):g}")
        partly = np.isnan(matrix).any(axis=1) & ~np.isnan(matrix).all(axis=1)
        if partly.any():
            raise ValueError(
                f"data must be seen or missing in whole steps for 'multinomial', got step {np.flatnonzero(partly)[0]} "
                "with some of its strengths NaN; a category without events has strength 0"
            )
        return matrix

    def size_of(self, values: np.ndarray, vocabulary: Vocabulary | None) -> int:
        """Return the number of categories."""
        del vocabulary
        return int(values.shape[1])

    def observe(self, values: np.ndarray, size: int, shift: Float[Tensor, " D"] | None = None) -> Observed:
        """Return the strengths, zero where missing."""
        del size, shift
        return Observed(torch.from_numpy(np.nan_to_num(values)))

    def prior_for(self, observed: Observed, values: np.ndarray, prior: Prior, sharing: Sharing | None = None) -> Prior:
        """Return the prior as it is, or raise a ValueError where only one category has strength."""
        del values
        used = int((add_up(observed.features.sum(0).numpy(), sharing) > 0).sum())
        if used < 2:
            raise ValueError(f"data must have strength in at least two categories, got {used}")
        return prior

    def start_features(
        self, values: np.ndarray, size: int, generator: np.random.Generator, sharing: Sharing | None = None
    ) -> np.ndarray:
        """Return the shares of each step, averaged over a few neighbouring steps."""
        del size, generator, sharing
        strengths = np.nan_to_num(values)
        shares = strengths / np.maximum(strengths.sum(axis=1, keepdims=True), 1e-300)
        kernel = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9
        return np.stack([np.convolve(column, kernel, mode="same")[: len(column)] for column in shares.T], axis=1)

    def log_density(
        self, observed: Observed, parameters: Parameters, series: Int64[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N K"]:
        """Return Σ_v x_v log p_v, -inf where a category with strength has probability zero."""
        density = natural_log_density(observed, log_probs(parameters["probs"], IMPOSSIBLE), series)
        return density.masked_fill(density < SURELY_IMPOSSIBLE, -torch.inf)

    def sample(
        self, parameters: Parameters, states: np.ndarray, series: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Draw one category for every step and give it strength 1."""
        drawn = super().sample(parameters, states, series, generator)
        strengths: np.ndarray = np.eye(parameters["probs"].shape[-1])[drawn]
        return strengths
