"""What comes after the last observation of a hidden semi-Markov sequence: which state, and when."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def hazard(duration: Float[Tensor, "P K D"]) -> Float[Tensor, "P K D"]:
    """Return P(a segment ends after d steps | it lasts at least d); 1 where no longer one exists.

    >>> hazard(torch.tensor([[[0.5, 0.25, 0.25]]])).tolist()
    [[[0.5, 0.5, 1.0]]]
    """
    survival = duration.flip(-1).cumsum(-1).flip(-1)
    return torch.where(survival > 0, duration / survival.clamp_min(torch.finfo(duration.dtype).tiny), 1.0).clamp_max(1)


def next_hsmm_states(
    ages: Float[Tensor, "B K D"], duration: Float[Tensor, "P K D"], transition: Float[Tensor, "P K K"]
) -> Float[Tensor, "B K"]:
    """Return P(state of the next step | x) from P(state, age of its segment | x) of the last one."""
    leaving = ages * hazard(duration)
    staying = ages.sum(-1) - leaving.sum(-1)
    return staying + torch.einsum("bi,bij->bj", leaving.sum(-1), transition.expand(len(ages), -1, -1))


def next_phase(ages: Float[Tensor, "B K D"], transition: Float[Tensor, "P K K"]) -> Float[Tensor, "B K"]:
    """Return P(the state that follows the present segment, whenever it ends | x)."""
    return torch.einsum("bi,bij->bj", ages.sum(-1), transition.expand(len(ages), -1, -1))


def steps_left(ages: Float[Tensor, "B K D"], duration: Float[Tensor, "P K D"]) -> Float[Tensor, "B D"]:
    """Return P(the present segment goes on for n more steps | x), n = 0 … D - 1."""
    survival = duration.flip(-1).cumsum(-1).flip(-1)
    longest = duration.shape[-1]
    shares = torch.where(survival > 0, ages / survival.clamp_min(torch.finfo(ages.dtype).tiny), 0.0)
    left = ages.new_zeros(len(ages), longest)
    for more in range(longest):
        left[:, more] = (shares[..., : longest - more] * duration[..., more:]).sum((-1, -2))
    return left
