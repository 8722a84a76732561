"""How long a segment lasts: tables over d = 1 … D from Poisson, negative binomial or free probabilities.

A table is the distribution given that d ≤ D: cut where hardly anything is left (`longest_duration`) and normalised. The
M-steps maximise the likelihood of the cut distribution, so that EM never falls, however early it is cut.
Parameters are dicts of tensors with a leading axis of owners, as those of emissions are.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float
from scipy import optimize, special, stats
from torch import Tensor

from gossamer.models.markov.emissions.family import Parameters, dirichlet_mode, log_probs

TAIL = 1e-6  # of the probability may lie beyond the longest duration
SMALLEST_RATE = 1e-6
NEWTON_STEPS = 50


def poisson_log_table(rates: Float[Tensor, "*owner K"], longest: int) -> Float[Tensor, "*owner K D"]:
    """Return log P(d) for d - 1 ~ Poisson(rate), given d ≤ `longest`; differentiable.

    >>> poisson_log_table(torch.tensor([1.0]), 3).exp()
    tensor([[0.4000, 0.4000, 0.2000]])
    """
    extra = torch.arange(longest, dtype=rates.dtype, device=rates.device)
    return torch.log_softmax(extra * rates.clamp_min(1e-30)[..., None].log() - torch.lgamma(extra + 1), dim=-1)


def negative_binomial_log_table(
    means: Float[Tensor, "*owner K"], sizes: Float[Tensor, "*owner K"], longest: int
) -> Float[Tensor, "*owner K D"]:
    """Return log P(d) for d - 1 negative binomial with this mean and variance mean + mean²/size, given d ≤ `longest`.

    >>> negative_binomial_log_table(torch.tensor([2.0]), torch.tensor([1.0]), 2).exp()
    tensor([[0.6000, 0.4000]])
    """
    extra = torch.arange(longest, dtype=means.dtype, device=means.device)
    sizes, means = sizes[..., None], means[..., None]
    ways = torch.lgamma(extra + sizes) - torch.lgamma(extra + 1)
    return torch.log_softmax(ways + extra * (means / (means + sizes)).log(), dim=-1)


class Duration(Protocol):
    """One family of durations; instances hold no parameters."""

    def start(self, mean: float, num_states: int, longest: int) -> Parameters:
        """Return parameters of states that last `mean` steps on average."""

    def log_table(self, parameters: Parameters, longest: int) -> Float[Tensor, "P K D"]:
        """Return log P(d), d = 1 … `longest`."""

    def maximise(self, counts: Float[Tensor, "P K D"], previous: Parameters) -> Parameters:
        """Return the parameters that fit the counts of durations best, or at least better than the previous."""

    def longest(self, parameters: Parameters) -> int | None:
        """Return the duration beyond which hardly anything lies; None where the table itself says."""

    def shapes(self, num_states: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters of one owner."""

    def num_free(self, num_states: int, longest: int) -> int:
        """Return the number of free parameters of one owner."""


class PoissonDuration:
    """d - 1 ~ Poisson(`rates`)."""

    def start(self, mean: float, num_states: int, longest: int) -> Parameters:
        """Return equal rates."""
        del longest
        return {"rates": torch.full((1, num_states), max(mean - 1, 0.1), dtype=torch.double)}

    def log_table(self, parameters: Parameters, longest: int) -> Float[Tensor, "P K D"]:
        """Return the table of `poisson_log_table`."""
        return poisson_log_table(parameters["rates"], longest)

    def maximise(self, counts: Float[Tensor, "P K D"], previous: Parameters) -> Parameters:
        """Match the mean of the cut distribution to that of the counts (Newton's method on log λ, which is concave)."""
        longest = counts.shape[-1]
        total = counts.sum(-1)
        extra = torch.arange(longest, dtype=counts.dtype)
        empty = total <= 1e-10
        wanted = (counts * extra).sum(-1) / total.masked_fill(empty, 1.0)
        bounds = float(np.log(SMALLEST_RATE)), float(np.log(100.0 * longest))
        log_rates = wanted.clamp_min(SMALLEST_RATE).log()
        for _ in range(NEWTON_STEPS):
            probs = poisson_log_table(log_rates.exp(), longest).exp()
            mean = (probs * extra).sum(-1)
            variance = (probs * extra.square()).sum(-1) - mean.square()
            move = ((wanted - mean) / variance.clamp_min(1e-12)).clamp(-1.0, 1.0)
            log_rates = (log_rates + move).clamp(*bounds)
            if move.abs().max() < 1e-12:
                break
        return {"rates": torch.where(empty, previous["rates"], log_rates.exp())}

    def longest(self, parameters: Parameters) -> int | None:
        """Return the quantile of the state that lasts longest."""
        return 1 + int(stats.poisson.ppf(1 - TAIL, parameters["rates"].max().item()))

    def shapes(self, num_states: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of the rates."""
        del longest
        return {"rates": (num_states,)}

    def num_free(self, num_states: int, longest: int) -> int:
        """Return one per state."""
        del longest
        return num_states


class NegativeBinomialDuration:
    """d - 1 negative binomial with `means` and variance mean + mean²/`sizes`: they vary more than Poisson's."""

    def start(self, mean: float, num_states: int, longest: int) -> Parameters:
        """Return equal means, and variances that are twice as large as Poisson's."""
        del longest
        means = torch.full((1, num_states), max(mean - 1, 0.1), dtype=torch.double)
        return {"means": means, "sizes": means.clone()}

    def log_table(self, parameters: Parameters, longest: int) -> Float[Tensor, "P K D"]:
        """Return the table of `negative_binomial_log_table`."""
        return negative_binomial_log_table(parameters["means"], parameters["sizes"], longest)

    def maximise(self, counts: Float[Tensor, "P K D"], previous: Parameters) -> Parameters:
        """Climb the likelihood of each state's counts from its previous parameters (there is no closed form)."""
        longest = counts.shape[-1]
        means, sizes = previous["means"].clone(), previous["sizes"].clone()
        bounds = [(np.log(SMALLEST_RATE), np.log(100.0 * longest)), (np.log(1e-2), np.log(1e4))]
        for owner, state in np.argwhere(counts.sum(-1).numpy() > 1e-10):
            shares = (counts[owner, state] / counts[owner, state].sum()).numpy()
            here = np.log([means[owner, state].item(), sizes[owner, state].item()])
            here = np.clip(here, [low for low, _ in bounds], [high for _, high in bounds])
            found = optimize.minimize(
                _negative_binomial_cost, here, (shares,), "L-BFGS-B", jac=True, bounds=bounds, options={"maxiter": 50}
            )
            if found.fun <= _negative_binomial_cost(here, shares)[0]:
                means[owner, state], sizes[owner, state] = (float(value) for value in np.exp(found.x))
        return {"means": means, "sizes": sizes}

    def longest(self, parameters: Parameters) -> int | None:
        """Return the quantile of the state that lasts longest."""
        means, sizes = parameters["means"].numpy(), parameters["sizes"].numpy()
        return 1 + int(stats.nbinom.ppf(1 - TAIL, sizes, sizes / (sizes + means)).max())

    def shapes(self, num_states: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of means and sizes."""
        del longest
        return {"means": (num_states,), "sizes": (num_states,)}

    def num_free(self, num_states: int, longest: int) -> int:
        """Return two per state."""
        del longest
        return 2 * num_states


class TableDuration:
    """P(d) = `probs`[k, d - 1]: any distribution up to a longest duration."""

    def start(self, mean: float, num_states: int, longest: int) -> Parameters:
        """Return a geometric distribution, cut off: it excludes nothing."""
        stay = 1 - 1 / max(mean, 1.1)
        probs = torch.softmax(torch.arange(longest, dtype=torch.double) * float(np.log(stay)), dim=0)
        return {"probs": probs.repeat(1, num_states, 1)}

    def log_table(self, parameters: Parameters, longest: int) -> Float[Tensor, "P K D"]:
        """Return the log of the table, which must have this length."""
        if parameters["probs"].shape[-1] != longest:
            raise ValueError(f"longest must be {parameters['probs'].shape[-1]}, the table's own, got {longest}")
        return log_probs(parameters["probs"])

    def maximise(self, counts: Float[Tensor, "P K D"], previous: Parameters) -> Parameters:
        """Return the shares of the counts."""
        return {"probs": dirichlet_mode(counts, 0.0, previous["probs"])}

    def longest(self, parameters: Parameters) -> int | None:
        """Return None: the table is as long as it is."""
        del parameters
        return None

    def shapes(self, num_states: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of the table."""
        return {"probs": (num_states, longest)}

    def num_free(self, num_states: int, longest: int) -> int:
        """Return one less than durations, per state."""
        return num_states * (longest - 1)


def _negative_binomial_cost(logs: np.ndarray, shares: np.ndarray) -> tuple[float, np.ndarray]:
    """Return minus the mean log-likelihood of durations, and its gradient, at (log mean, log size)."""
    mean, size = np.exp(logs)
    extra = np.arange(len(shares), dtype=np.float64)
    ways = special.gammaln(extra + size) - special.gammaln(extra + 1) + extra * np.log(mean / (mean + size))
    table = special.log_softmax(ways)
    surplus = np.exp(table) - shares
    by_mean = extra * size / (mean + size)
    by_size = size * (special.digamma(extra + size) - extra / (mean + size))
    return float(-shares @ table), np.array([surplus @ by_mean, surplus @ by_size])


DURATIONS: dict[str, Duration] = {
    "poisson": PoissonDuration(),
    "negative-binomial": NegativeBinomialDuration(),
    "table": TableDuration(),
}
