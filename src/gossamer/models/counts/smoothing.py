"""What an activation gives on average when its argument is normal: E f(a), E f'(a), E f''(a) for a ~ N(μ, σ²)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

Activation = Callable[[Tensor], Tensor]
NODES = 9  # of Gauss–Hermite quadrature; with fewer, slopes of tanh are off by a hundredth at σ = 1
SMALLEST_VARIANCE = 1e-6  # below, quotients by σ are rounding errors


def slope_of(
    activation: Activation, entering: Float[Tensor, "B H"]
) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]]:
    """Return f(a) and f'(a) of an elementwise function."""
    if activation is torch.relu:
        value = torch.relu(entering)
        return value, (value > 0).to(value.dtype)
    if activation is torch.tanh:
        value = torch.tanh(entering)
        return value, value.square().neg_().add_(1)
    with torch.enable_grad():
        leaf = entering.detach().requires_grad_()
        value = activation(leaf)
        (slope,) = torch.autograd.grad(value, leaf, torch.ones_like(leaf))
    return value.detach(), slope


def smooth(
    activation: Activation, mean: Float[Tensor, "B H"], variance: Float[Tensor, "B H"]
) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H"], Float[Tensor, "B H"]]:
    """Return E f(a), E f'(a) and E f''(a): in closed form for ReLU, whose kink no quadrature sees, else by quadrature.

    E f(a) has the derivatives E f'(a) in μ and E f''(a) / 2 in σ²; and E f''(a) = E[(a − μ) f'(a)] / σ² (Stein).
    """
    deviation = variance.clamp(min=SMALLEST_VARIANCE).sqrt()
    if activation is torch.relu:
        ratio = mean / deviation
        slope = torch.erf(ratio * math.sqrt(0.5)).add_(1).mul_(0.5)
        density = ratio.square_().mul_(-0.5).exp_().mul_(1 / math.sqrt(2 * math.pi))
        return torch.addcmul(mean * slope, deviation, density), slope, density / deviation
    value, slope, tilt = (torch.zeros_like(mean) for _ in range(3))
    for node, weight in zip(*_quadrature(), strict=True):
        value_there, slope_there = slope_of(activation, torch.add(mean, deviation, alpha=node))
        value.add_(value_there, alpha=weight)
        slope.add_(slope_there, alpha=weight)
        tilt.add_(slope_there, alpha=weight * node)
    return value, slope, tilt / deviation


@cache
def _quadrature() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return nodes and weights for expectations under N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return tuple(nodes.tolist()), tuple((weights / weights.sum()).tolist())
