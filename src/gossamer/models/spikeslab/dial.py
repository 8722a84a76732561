"""The dial: the Beta prior's alpha is turned while training, until codes are as sparse as was asked for."""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.spikeslab.spike_slab import SPIKE_SCALE

MOMENT_DECAY, HOYER_DECAY = 0.95, 0.8
LOWEST, HIGHEST = math.log(0.02), math.log(2000.0)
# How far log alpha and the wanted share could go in a whole training for an error of 1, and per update at most.
ALPHA_TRAVEL, SHARE_TRAVEL, FASTEST = 40.0, 30.0, 0.2
MOST_ON = 0.95
# Up to this sparsity the paper's spikes do in any width that is used; above it they have to be thinner, by halves,
# until the Hoyer that can be reached is so much above what is asked for. Below the thinnest nothing more is gained.
PAPER_REACH, MARGIN, THINNEST = 0.65, 0.05, SPIKE_SCALE / 2**7
NUM_SHARES, NUMBERS_DRAWN, FEWEST_CODES = 12, 32_000, 100


def hoyer_of(codes: Float[Tensor, "B D"], scale: Float[Tensor, " D"]) -> Float[Tensor, " B"]:
    """Return Hoyer's measure of each code, equation (3), after dividing each dimension by `scale`.

    >>> hoyer_of(torch.tensor([[1.0, -1.0], [0.0, 3.0]]), torch.ones(2)).round(decimals=5).tolist()
    [0.0, 1.0]
    """
    scaled = codes / scale.clamp_min(1e-8)
    root = math.sqrt(codes.shape[1])
    ratio = scaled.abs().sum(dim=1) / scaled.norm(dim=1).clamp_min(1e-12)
    values: Tensor = (root - ratio) / (root - 1)
    return values


def fewest_on(latent_dim: int, spike_scale: float) -> float:
    """Return the share of dimensions below which closing more gates makes codes less sparse by Hoyer's measure.

    With a share p on, of size 1, and spikes of size s, ‖z‖₁/‖z‖₂ is least at p = s / (1 + s): below it codes are
    mostly spikes, all of one size, and so dense. Twice that, and three dimensions at least, keeps on the safe side:
    with two on average, too many codes have none, and too many dimensions are never on.

    >>> fewest_on(32, 0.05)
    0.1
    """
    return min(MOST_ON, max(2 * spike_scale, 3 / latent_dim))


def reachable_hoyer(latent_dim: int, spike_scale: float) -> float:
    """Return the highest Average Hoyer of codes whose gates open at random: slabs N(0, 1), spikes of `spike_scale`.

    Simulated, over the shares of dimensions that the dial may choose: in few dimensions the number that is on varies
    too much from code to code for its mean to say it. All dimensions are alike, so none needs to be scaled.

    >>> round(reachable_hoyer(256, 0.05), 2), round(reachable_hoyer(256, 0.05 / 4), 2)
    (0.68, 0.85)
    """
    generator = torch.Generator().manual_seed(0)
    shape = max(FEWEST_CODES, NUMBERS_DRAWN // latent_dim), latent_dim
    noise, chance = torch.randn(shape, generator=generator), torch.rand(shape, generator=generator)
    shares = np.geomspace(fewest_on(latent_dim, spike_scale), MOST_ON, NUM_SHARES)
    alike = torch.ones(latent_dim)
    return max(
        float(hoyer_of(torch.where(chance < float(share), noise, spike_scale * noise), alike).mean())
        for share in shares
    )


def choose_spike_scale(sparsity: float | None, latent_dim: int) -> float:
    """Return the paper's spike scale; where `sparsity` is out of its reach, the largest of its halves that reaches it.

    >>> choose_spike_scale(0.6, 32), choose_spike_scale(0.8, 32)
    (0.05, 0.0015625)
    """
    scale = SPIKE_SCALE
    if sparsity is None or sparsity <= PAPER_REACH:
        return scale
    while scale > THINNEST and reachable_hoyer(latent_dim, scale) < sparsity + MARGIN:
        scale /= 2
    return scale


class SparsityDial(nn.Module):
    """Two slow controllers: the Hoyer of drawn codes sets what share shall be on, and that share sets log alpha.

    A larger alpha always closes gates, but Hoyer's measure falls again where nearly all are closed (`fewest_on`):
    turning alpha by the Hoyer alone would run away there. Standard deviations and the Hoyer are running means.
    """

    first_moment: Tensor
    second_moment: Tensor
    hoyer: Tensor
    weight: Tensor
    log_share: Tensor

    def __init__(self, target: float, latent_dim: int, num_updates: int, *, spike_scale: float, share: float) -> None:
        super().__init__()
        self.target = target
        self.alpha_gain = min(FASTEST, ALPHA_TRAVEL / num_updates)
        self.share_gain = min(FASTEST, SHARE_TRAVEL / num_updates)
        self.range = math.log(fewest_on(latent_dim, spike_scale)), math.log(MOST_ON)
        self.register_buffer("first_moment", torch.zeros(latent_dim))
        self.register_buffer("second_moment", torch.zeros(latent_dim))
        self.register_buffer("hoyer", torch.zeros(()))
        self.register_buffer("weight", torch.zeros(2))  # what of a running mean is not its zero at the beginning
        self.register_buffer("log_share", torch.tensor(math.log(share)).clamp(*self.range))

    @torch.no_grad()
    def turn(self, codes: Float[Tensor, "B D"], on_share: Float[Tensor, ""], log_alpha: Float[Tensor, "*one"]) -> None:
        """Take note of a batch of codes and of how much of it is on, and move `log_alpha` in place."""
        self.first_moment.lerp_(codes.mean(dim=0), 1 - MOMENT_DECAY)
        self.second_moment.lerp_(codes.square().mean(dim=0), 1 - MOMENT_DECAY)
        decays = torch.tensor([MOMENT_DECAY, HOYER_DECAY], device=codes.device)
        self.weight.lerp_(torch.ones_like(decays), 1 - decays)
        mean, square = self.first_moment / self.weight[0], self.second_moment / self.weight[0]
        scale = (square - mean**2).clamp_min(0).sqrt()
        self.hoyer.lerp_(hoyer_of(codes, scale).mean(), 1 - HOYER_DECAY)
        self.log_share.add_(self.share_gain * (self.measured() - self.target)).clamp_(*self.range)
        surplus = on_share.clamp_min(1e-4).log() - self.log_share
        log_alpha.add_(self.alpha_gain * surplus).clamp_(LOWEST, HIGHEST)

    def measured(self) -> Float[Tensor, ""]:
        """Return the Average Hoyer of the last batches."""
        return self.hoyer / self.weight[1]
