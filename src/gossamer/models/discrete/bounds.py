"""How well a fitted model explains observations: the paper's relaxed objective, and two bounds with hard codes."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.core.randomness import derive_seed
from gossamer.models.discrete.module import DiscreteNetwork

NUM_SAMPLES = 100
BLOCK_CODES = 2000  # codes decoded at a time


def importance_bound(log_weights: Float[Tensor, "S B"]) -> Float[Tensor, " B"]:
    """Return log mean exp over the draws (Burda et al. 2016): at least the mean of logs, at most log p(x) on average.

    >>> round(importance_bound(torch.log(torch.tensor([[0.25], [0.75]]))).exp().item(), 5)
    0.5
    """
    return log_weights.logsumexp(dim=0) - math.log(len(log_weights))


@torch.no_grad()
def measure_hard(
    network: DiscreteNetwork, x: Float[Tensor, "B D"], num_samples: int, generator: torch.Generator
) -> dict[str, Float[Tensor, " B"]]:
    """Return per observation, in nats: `hard`, `reconstruction` and `kl` (hard = reconstruction + kl), `iw`, `active`.

    `hard` is −(mean over draws of log p(x | z) − KL), a bound on −log p(x) in expectation for any number of draws; `iw`
    is the importance-weighted one of all of them together, between `hard` and −log p(x). `active` is how many features
    are on.
    """
    encoded = network.encode(x)
    drawn = network.latent.draw(encoded, num_samples, generator)
    fit = network.log_likelihood(drawn.codes, x)
    kl = network.latent.kl(encoded, drawn.codes)
    kl = kl.mean(dim=0) if kl.ndim > 1 else kl
    return {
        "hard": kl - fit.mean(dim=0),
        "reconstruction": -fit.mean(dim=0),
        "kl": kl,
        "iw": -importance_bound(fit - drawn.log_ratio),
        "active": (drawn.codes > 0).sum(dim=-1).float().mean(dim=0),
    }


@torch.no_grad()
def measure_relaxed(
    network: DiscreteNetwork, x: Float[Tensor, "B D"], generator: torch.Generator
) -> Float[Tensor, " B"]:
    """Return the paper's objective with one relaxed draw: **not a bound** on −log p(x).

    The decoder sees codes inside the simplex, which can tell more than hard ones, while the KL is that of hard ones.
    """
    encoded = network.encode(x)
    codes = network.latent.pathwise(encoded, "relaxed", network.temperatures(), generator)
    return network.latent.kl(encoded, codes) - network.log_likelihood(codes, x)


def measure(
    network: DiscreteNetwork,
    blocks: Iterable[Float[Tensor, "B D"]],
    *,
    num_samples: int = NUM_SAMPLES,
    seed: int = 0,
) -> dict[str, float]:
    """Return the mean over all observations of everything above; the noise depends on `seed` and their order only."""
    generator, noise = torch.Generator(), torch.Generator()
    generator.manual_seed(derive_seed(seed, "hard"))
    noise.manual_seed(derive_seed(seed, "relaxed"))
    totals: dict[str, float] = {}
    num_rows = 0
    for block in blocks:
        size = max(1, BLOCK_CODES // num_samples)
        for x in torch.split(block, size):
            found = measure_hard(network, x, num_samples, generator)
            found["relaxed"] = measure_relaxed(network, x, noise)
            for name, values in found.items():
                totals[name] = totals.get(name, 0.0) + float(values.double().sum())
            num_rows += len(x)
    return {name: total / num_rows for name, total in totals.items()}
