"""Hidden Markov and semi-Markov models by brute force: every path of a tiny sequence, with its log weight.

Weights are sums of the given log parameters and carry their graph, so that automatic differentiation of their
logsumexp is the oracle of expected counts, and of derivatives of those.
"""

from __future__ import annotations

from itertools import product

import torch
from jaxtyping import Float, Int64
from torch import Tensor


def hmm_paths(
    log_initial: Float[Tensor, " K"], log_transition: Float[Tensor, "K K"], log_emissions: Float[Tensor, "T K"]
) -> tuple[Int64[Tensor, "paths T"], Float[Tensor, " paths"]]:
    """Return all Kᵀ paths of a hidden Markov model and log P(path, observations)."""
    length, num_states = log_emissions.shape
    paths = torch.tensor(list(product(range(num_states), repeat=length)))
    weights = log_initial[paths[:, 0]]
    weights = weights + log_emissions[torch.arange(length), paths].sum(1)
    return paths, weights + log_transition[paths[:, :-1], paths[:, 1:]].sum(1)


def hsmm_paths(
    log_initial: Float[Tensor, " K"],
    log_transition: Float[Tensor, "K K"],
    log_duration: Float[Tensor, "K D"],
    log_emissions: Float[Tensor, "T K"],
    *,
    censored: bool = True,
) -> tuple[Int64[Tensor, "paths T"], Float[Tensor, " paths"]]:
    """Return all segmentations of a hidden semi-Markov model, as states, and log P(segmentation, observations).

    The last segment lasts at least as long as it is seen if `censored`, else exactly as long.
    """
    length, num_states = log_emissions.shape
    longest = log_duration.shape[1]
    paths: list[list[int]] = []
    weights: list[Tensor] = []

    def extend(path: list[int], weight: Tensor) -> None:
        if len(path) == length:
            paths.append(path)
            weights.append(weight)
            return
        for state in range(num_states):
            begun = weight + (log_transition[path[-1], state] if path else log_initial[state])
            for duration in range(1, min(longest, length - len(path)) + 1):
                inside = log_emissions[len(path) : len(path) + duration, state].sum()
                lasted = log_duration[state, duration - 1]
                if censored and len(path) + duration == length:
                    lasted = log_duration[state, duration - 1 :].logsumexp(0)
                extend([*path, *[state] * duration], begun + inside + lasted)

    extend([], log_emissions.new_zeros(()))
    return torch.tensor(paths), torch.stack(weights)
