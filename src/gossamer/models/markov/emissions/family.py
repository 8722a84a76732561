"""What every emission is: an exponential family, log p(x | k) = φ(x)·η_k + h(x).

φ is computed once per data set, the density of all states is one matrix product with it, and so are the sums of the
M-step: Σ_t γ_t(k) φ(x_t). A step without observation has φ = 0 and h = 0, hence density 1.

Parameters are dicts of tensors with a leading axis of owners: 1 where all sequences share them, else one per sequence.
All functions of parameters are differentiable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gossamer.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

Parameters = dict[str, Tensor]
IMPOSSIBLE = -1e30  # stands for log 0 inside a matrix product, where 0 · -inf would be NaN
SURELY_IMPOSSIBLE = -1e15


class Observed(NamedTuple):
    """Observations as a family needs them; `shift` keeps squares of far-away data from cancelling.

    `codes` (N) are categories, -1 for none, in place of φ for the family that has too many.
    """

    features: Float[Tensor, "N F"]
    carrier: Float[Tensor, " N"] | None = None
    shift: Float[Tensor, " D"] | None = None
    codes: Int64[Tensor, " N"] | None = None


class Prior(NamedTuple):
    """What is believed before the data: pseudo-counts, and for Gaussians the data's own variance and a floor to it."""

    pseudo_count: float = 0.0
    variance_weight: float = 0.0
    variance_floor: float = 0.0
    centre: Float[Tensor, " D"] | None = None
    variance: Float[Tensor, " D"] | None = None


class Emission(Protocol):
    """One family of densities; instances hold no data and no parameters."""

    def check(self, values: np.ndarray, missing: np.ndarray | None, size: int | None) -> np.ndarray:
        """Return observations as this family takes them, NaN (or category -1) where missing, or raise a ValueError.

        `size` is how many dimensions or categories a fitted model has, None before.
        """

    def size_of(self, values: np.ndarray, vocabulary: Vocabulary | None) -> int:
        """Return the number of dimensions, or of categories."""

    def observe(self, values: np.ndarray, size: int, shift: Float[Tensor, " D"] | None = None) -> Observed:
        """Return φ(x); `shift` replaces the data's own where sums of φ are added to those of other processes."""

    def prior_for(self, observed: Observed, values: np.ndarray, prior: Prior, sharing: Sharing | None = None) -> Prior:
        """Return the prior with what it takes from the data, or raise a ValueError where they do not vary."""

    def start_features(
        self, values: np.ndarray, size: int, generator: np.random.Generator, sharing: Sharing | None = None
    ) -> np.ndarray:
        """Return vectors whose clusters are a start for the states."""

    def log_density(
        self, observed: Observed, parameters: Parameters, series: Int64[Tensor, " N"] | None = None
    ) -> Float[Tensor, "N K"]:
        """Return log p(x_t | k); `series` says whose parameters a step has, where there are several."""

    def maximise(
        self, sums: Float[Tensor, "P K F"], observed: Observed, prior: Prior, previous: Parameters | None
    ) -> Parameters:
        """Return the parameters that fit the sums of φ best, given the prior (the M-step)."""

    def log_prior(self, parameters: Parameters, prior: Prior) -> Float[Tensor, " P"]:
        """Return the log prior density of every owner's parameters, but for a constant."""

    def shapes(self, num_states: int, size: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters of one owner."""

    def num_free(self, num_states: int, size: int) -> int:
        """Return the number of free parameters of one owner."""

    def expected(self, parameters: Parameters) -> Float[Tensor, "P K D"]:
        """Return the expected observation of every state: means, rates, or probabilities of categories."""

    def sample(
        self, parameters: Parameters, states: np.ndarray, series: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Return one observation for every step of the given states."""


def natural_log_density(
    observed: Observed, natural: Float[Tensor, "P K F"], series: Int64[Tensor, " N"] | None
) -> Float[Tensor, "N K"]:
    """Return φ(x)·η + h(x): one matrix product where parameters are shared, else one product per step."""
    if len(natural) == 1:
        density = observed.features @ natural[0].T
    else:
        density = torch.einsum("nf,nkf->nk", observed.features, natural[_given(series)])
    return density if observed.carrier is None else density + observed.carrier[:, None]


def owner_sums(
    observed: Observed, weights: Float[Tensor, "N K"], series: Int64[Tensor, " N"] | None, num_owners: int
) -> Float[Tensor, "P K F"]:
    """Return Σ_t weights_t(k) φ(x_t) of every owner."""
    if observed.codes is not None:
        num_codes = observed.features.shape[1]
        rows = observed.codes if num_owners == 1 else observed.codes + num_codes * _given(series)
        seen = observed.codes >= 0
        sums = weights.new_zeros(num_owners * num_codes, weights.shape[1]).index_add(0, rows[seen], weights[seen])
        return sums.view(num_owners, num_codes, -1).transpose(1, 2)
    if num_owners == 1:
        return (weights.T @ observed.features)[None]
    products = weights[:, :, None] * observed.features[:, None, :]
    return products.new_zeros(num_owners, *products.shape[1:]).index_add(0, _given(series), products)


def log_probs(probs: Tensor, impossible: float = -torch.inf) -> Tensor:
    """Return logs, `impossible` for log 0, with a gradient of 0 there instead of NaN."""
    is_zero = probs <= 0
    return torch.where(is_zero, impossible, torch.where(is_zero, 1.0, probs).log())


def _given(series: Tensor | None) -> Tensor:
    if series is None:
        raise ValueError("series must say which sequence every step belongs to where parameters are several, got None")
    return series


def check_matrix(values: np.ndarray, missing: np.ndarray | None, size: int | None) -> np.ndarray:
    """Return a matrix of reals with NaN where missing, or raise a ValueError."""
    matrix = np.asarray(values, dtype=np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if size is not None and matrix.shape[1] != size:
        raise ValueError(f"data must have {size} dimensions, as those of the fit have, got {matrix.shape[1]}")
    if missing is not None:
        matrix = np.where(missing if missing.ndim == 2 else missing[:, None], np.nan, matrix)
    if np.isinf(matrix).any():
        raise ValueError("data must be finite or NaN (missing), got an infinite value")
    return matrix


def dirichlet_mode(counts: Tensor, pseudo_count: float, previous: Tensor | None) -> Tensor:
    """Return probabilities along the last axis from counts; where there is nothing at all, the previous ones or even.

    >>> dirichlet_mode(torch.tensor([[3.0, 1.0], [0.0, 0.0]]), 0.0, None).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    raised = counts + pseudo_count
    total = raised.sum(-1, keepdim=True)
    empty = total <= 0
    usual = torch.full_like(raised, 1.0 / raised.shape[-1]) if previous is None else previous
    return torch.where(empty, usual, raised / total.masked_fill(empty, 1.0))


def dirichlet_log_prior(probs: Tensor, pseudo_count: float) -> Float[Tensor, " P"]:
    """Return Σ pseudo_count · log p of every owner; probabilities that are zero by structure have no prior."""
    if pseudo_count == 0:
        return probs.new_zeros(len(probs))
    logs = torch.where(probs > 0, probs.clamp_min(torch.finfo(probs.dtype).tiny).log(), 0.0)
    return pseudo_count * logs.flatten(1).sum(1)
