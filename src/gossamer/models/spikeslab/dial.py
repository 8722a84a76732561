"""The dial: the Beta prior's alpha is turned while training, until codes are as sparse as was asked for."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

MOMENT_DECAY, HOYER_DECAY = 0.95, 0.8
LOWEST, HIGHEST = math.log(0.02), math.log(5000.0)
TRAVEL = 40.0  # how far log alpha could go in a whole training if the error were 1 all the time
FASTEST = 0.5  # per update and unit of error


def hoyer_of(codes: Float[Tensor, "B D"], scale: Float[Tensor, " D"]) -> Float[Tensor, " B"]:
    """Return Hoyer's measure of each code, equation (3), after dividing each dimension by `scale`.

    >>> hoyer_of(torch.tensor([[1.0, -1.0], [0.0, 3.0]]), torch.ones(2)).round(decimals=5).tolist()
    [0.0, 1.0]
    """
    scaled = codes / scale.clamp_min(1e-8)
    root = math.sqrt(codes.shape[1])
    ratio = scaled.abs().sum(dim=1) / scaled.norm(dim=1).clamp_min(1e-12)
    return (root - ratio) / (root - 1)


class SparsityDial(nn.Module):
    """Follows the Average Hoyer of the codes that training draws, and moves log alpha by the error (integral control).

    A larger alpha makes being off likelier a priori, so codes sparser; its pull on a gate is proportional to it, which
    is why the logarithm is what is moved. Standard deviations and the Hoyer are running means over the last batches.
    """

    first_moment: Tensor
    second_moment: Tensor
    hoyer: Tensor
    weight: Tensor

    def __init__(self, target: float, latent_dim: int, num_updates: int) -> None:
        super().__init__()
        self.target = target
        self.gain = min(FASTEST, TRAVEL / num_updates)
        self.register_buffer("first_moment", torch.zeros(latent_dim))
        self.register_buffer("second_moment", torch.zeros(latent_dim))
        self.register_buffer("hoyer", torch.zeros(()))
        self.register_buffer("weight", torch.zeros(2))

    @torch.no_grad()
    def turn(self, codes: Float[Tensor, "B D"], log_alpha: Float[Tensor, ""]) -> None:
        """Take note of a batch of codes and move `log_alpha` in place."""
        self.first_moment.lerp_(codes.mean(dim=0), 1 - MOMENT_DECAY)
        self.second_moment.lerp_(codes.square().mean(dim=0), 1 - MOMENT_DECAY)
        self.weight.lerp_(torch.ones(2, device=codes.device), torch.tensor([1 - MOMENT_DECAY, 1 - HOYER_DECAY]))
        mean, square = self.first_moment / self.weight[0], self.second_moment / self.weight[0]
        scale = (square - mean**2).clamp_min(0).sqrt()
        self.hoyer.lerp_(hoyer_of(codes, scale).mean(), 1 - HOYER_DECAY)
        error = self.target - self.hoyer / self.weight[1]
        log_alpha.add_(self.gain * error).clamp_(LOWEST, HIGHEST)
