"""The Jacobian ∇_z log p(x | z) of a decoder and its singular values: which latent directions change any term at all.

With h the last hidden layer, p = softmax(W·h(z) + b) and M = ∂h/∂z, the log-probabilities of all terms change by

    J(z) = ∂ log p / ∂z = (I − 1·pᵀ)·W·M          (V × K; section 7 of the supplement)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.nn import functional

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.counts.module import Decoder

_DRAWS_AT_ONCE = 25  # 25 × H × K numbers, and 25 × V

# The derivative of each activation at its input; at the kink of relu it is 0, as autograd has it.
SLOPES: dict[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]] = {
    torch.relu: lambda before: (before > 0).to(before.dtype),
    torch.tanh: lambda before: 1 - torch.tanh(before).square(),
    functional.softplus: torch.sigmoid,
}


@dataclass(frozen=True, eq=False)
class JacobianSpectrum:
    """Singular values, falling: of J(0), of the mean of J over draws of the prior, and the mean of each draw's own.

    The paper shows the first and has seen the second to be similar. Where J turns around from place to place, parts
    of its mean cancel, and the third is the honest average.
    """

    at_zero: Float64[np.ndarray, " K"]
    of_mean: Float64[np.ndarray, " K"]
    mean_of_draws: Float64[np.ndarray, " K"]
    num_draws: int


@torch.no_grad()
def log_prob_jacobian(decoder: Decoder, z: Float[Tensor, " K"] | None = None) -> Float[Tensor, "V K"]:
    """Return J(z), how much the log-probability of each term rises per unit of each latent variable; at 0 by default.

    >>> decoder = Decoder(num_terms=5, latent_dim=2)
    >>> bool((decoder.logits(torch.zeros(1, 2)).softmax(1) @ log_prob_jacobian(decoder)).abs().max() < 1e-6)
    True
    """
    _check_decoder(decoder)
    at = decoder.bias.new_zeros(decoder.latent_dim) if z is None else z
    if at.shape != (decoder.latent_dim,):
        raise ValueError(f"z must have the shape ({decoder.latent_dim},), got {tuple(at.shape)}")
    hidden, slopes = _hidden_and_slopes(decoder, at.unsqueeze(0))
    changes = decoder.weight @ slopes[0]
    return changes - _probs(decoder, hidden)[0] @ changes


@torch.no_grad()
def jacobian_spectrum(decoder: Decoder, *, num_draws: int = 100, random_state: RandomState = 0) -> JacobianSpectrum:
    """Return the singular values of J at the prior's mode and over `num_draws` of the prior.

    No draw's Jacobian is written out. Its singular values come from JᵀJ = Mᵀ(CᵀC + V·eeᵀ)M, where C is W less the mean
    of its rows and e = Cᵀp: two K × K terms that cannot cancel. The mean of J is W·E[M] − 1·E[pᵀWM].
    """
    check_int("num_draws", num_draws, at_least=1)
    at_zero = singular_values(log_prob_jacobian(decoder))
    weight = decoder.weight - decoder.weight.mean(dim=0)
    gram = _gram(weight)
    num_terms, latent_dim = len(weight), decoder.latent_dim
    mean_slope = torch.zeros(weight.shape[1], latent_dim, dtype=torch.float64, device=weight.device)
    mean_shift = torch.zeros(latent_dim, dtype=torch.float64, device=weight.device)
    total = torch.zeros_like(mean_shift)
    for z in _prior_draws(decoder, num_draws, random_state):
        hidden, slopes = _hidden_and_slopes(decoder, z)
        slopes = slopes.double()
        expected = (_probs(decoder, hidden) @ weight).double()
        shifts = torch.einsum("bh,bhk->bk", expected, slopes)
        squared = slopes.mT @ (gram @ slopes) + num_terms * shifts.unsqueeze(2) * shifts.unsqueeze(1)
        total += torch.linalg.eigvalsh(squared).clamp(min=0).sqrt().flip(1).sum(dim=0)
        mean_slope += slopes.sum(dim=0) / num_draws
        mean_shift += shifts.sum(dim=0) / num_draws
    mean = weight @ mean_slope.to(weight.dtype) - mean_shift.to(weight.dtype)
    return JacobianSpectrum(at_zero, singular_values(mean), (total / num_draws).cpu().numpy(), num_draws)


def singular_values(jacobian: Float[Tensor, "V K"]) -> Float64[np.ndarray, " K"]:
    """Return K singular values, falling; with fewer terms than latent variables, the last ones are 0."""
    found = torch.linalg.svdvals(jacobian.double()).cpu().numpy()
    return np.pad(found, (0, jacobian.shape[1] - len(found)))


def _hidden_and_slopes(
    decoder: Decoder, z: Float[Tensor, "B K"]
) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H K"]]:
    """Return h(z) and M = ∂h/∂z by the chain rule: a layer a(A·h + c) multiplies by A, then by the slope of a."""
    hidden = z
    slopes = torch.eye(z.shape[1], dtype=z.dtype, device=z.device).expand(len(z), -1, -1)
    for layer in decoder.layers:
        before = layer(hidden)
        moved = layer.weight @ slopes  # type: ignore[operator]
        hidden, slopes = decoder.activation(before), SLOPES[decoder.activation](before).unsqueeze(2) * moved
    return hidden, slopes


def _probs(decoder: Decoder, hidden: Float[Tensor, "B H"]) -> Float[Tensor, "B V"]:
    return functional.linear(hidden, decoder.weight, decoder.bias).softmax(dim=1)


def _gram(weight: Float[Tensor, "V H"]) -> Float64[Tensor, "H H"]:
    """Return WᵀW in double precision, without a copy of W in it: small singular values are what is looked for."""
    blocks = (block.double() for block in torch.split(weight, 4096))
    return torch.stack([block.T @ block for block in blocks]).sum(dim=0)


def _prior_draws(decoder: Decoder, num_draws: int, random_state: RandomState) -> Iterator[Tensor]:
    draws = torch.randn(num_draws, decoder.latent_dim, generator=torch_generator(random_state), dtype=torch.float64)
    yield from torch.split(draws.to(decoder.bias), _DRAWS_AT_ONCE)


def _check_decoder(decoder: Decoder) -> None:
    for name, parameter in decoder.named_parameters():
        if not torch.isfinite(parameter).all():
            raise ValueError(f"decoder must have finite parameters, got {name} with NaN or infinity")
