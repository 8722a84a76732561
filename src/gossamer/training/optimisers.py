"""Proximal SGD, Adam and Yogi for L1-regularised and nonnegative parameters; `training/proximal.py` has the method."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from gossamer.core.checks import check_real
from gossamer.training.proximal import Group, Moments, ProximalOptimiser

__all__ = ["ProximalAdam", "ProximalSGD", "ProximalYogi"]


class ProximalSGD(ProximalOptimiser):
    """Proximal gradient descent: w ← S(w − lr·b, lr·l1/(1 − momentum)) with b ← momentum·b + ∇f.

    The step is that of torch's SGD, whose momentum makes it 1/(1 − momentum) times as long, so the threshold must grow
    alike: with lr·l1 alone the method would solve the problem whose penalty is l1·(1 − momentum).

    >>> weight = torch.nn.Parameter(torch.tensor([1.0, 0.05]))
    >>> optimiser = ProximalSGD([weight], lr=0.1, l1=1.0)
    >>> weight.grad = torch.zeros(2)
    >>> optimiser.step()
    >>> print([round(value, 3) for value in weight.tolist()])
    [0.9, 0.0]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        *,
        l1: float | Tensor = 0.0,
        nonnegative: bool = False,
        momentum: float = 0.0,
    ) -> None:
        check_real("momentum", momentum, at_least=0, below=1)
        super().__init__(params, {"lr": lr, "l1": l1, "nonnegative": nonnegative, "momentum": momentum})

    def new_moments(self, group: Group, parameter: Tensor) -> Moments:
        """Return the running mean of gradients, or nothing without momentum."""
        return {"momentum": torch.zeros_like(parameter)} if group["momentum"] else {}

    def advance(self, group: Group, moments: Moments, count: Tensor, gradient: Tensor) -> Tensor:
        """Return the gradient, or its running mean (1 − momentum)·b."""
        del count
        if "momentum" not in moments:
            return gradient
        return moments["momentum"].lerp_(gradient, 1 - group["momentum"])

    def metric(self, group: Group, moments: Moments, count: Tensor) -> Tensor:
        """Return 1 − momentum, which as a 0-d float64 loses no digit in any dtype."""
        del moments
        return count.new_full((), 1 - group["momentum"], dtype=torch.float64)


class ProximalAdam(ProximalOptimiser):
    """Adam whose step and threshold share the metric √v̂ + eps, with bias-corrected moments (Kingma & Ba 2015).

    In row-sparse parameters the correction uses each row's own number of gradients.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        l1: float | Tensor = 0.0,
        nonnegative: bool = False,
    ) -> None:
        _check_adaptive(betas, eps)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "l1": l1, "nonnegative": nonnegative})

    def new_moments(self, group: Group, parameter: Tensor) -> Moments:
        """Return zero first and second moments."""
        del group
        return {"mean": torch.zeros_like(parameter), "square": torch.zeros_like(parameter)}

    def advance(self, group: Group, moments: Moments, count: Tensor, gradient: Tensor) -> Tensor:
        """Average the gradient and its square; return the bias-corrected mean."""
        first, second = group["betas"]
        mean = moments["mean"].lerp_(gradient, 1 - first)
        moments["square"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
        return mean / _bias(first, count, mean.dtype)

    def metric(self, group: Group, moments: Moments, count: Tensor) -> Tensor:
        """Return √v̂ + eps, infinite for a row without gradients."""
        square = moments["square"]
        metric = (square / _bias(group["betas"][1], count, square.dtype)).sqrt_().add_(group["eps"])
        return metric.masked_fill_(count == 0, torch.inf)


class ProximalYogi(ProximalOptimiser):
    """Yogi with a proximal step: v ← v − (1−β₂)·sign(v − g²)·g² (Zaheer et al. 2018, algorithm 2).

    No bias correction, as in the paper: `initial_accumulator` is v before the first gradient. A zero gradient leaves v
    as it is, so with β₁ = 0 the row-sparse optimiser equals the dense one.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-3,
        initial_accumulator: float = 1e-6,
        l1: float | Tensor = 0.0,
        nonnegative: bool = False,
    ) -> None:
        _check_adaptive(betas, eps)
        check_real("initial_accumulator", initial_accumulator, at_least=0)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "l1": l1, "nonnegative": nonnegative}
        super().__init__(params, {**defaults, "initial_accumulator": initial_accumulator})

    def new_moments(self, group: Group, parameter: Tensor) -> Moments:
        """Return a zero first moment and the initial accumulator."""
        square = torch.full_like(parameter, group["initial_accumulator"])
        return {"mean": torch.zeros_like(parameter), "square": square}

    def advance(self, group: Group, moments: Moments, count: Tensor, gradient: Tensor) -> Tensor:
        """Average the gradient, move v towards its square additively; return the mean."""
        del count
        first, second = group["betas"]
        squared = gradient.square()
        square = moments["square"]
        square.addcmul_(torch.sign(square - squared), squared, value=-(1 - second))
        return moments["mean"].lerp_(gradient, 1 - first)

    def metric(self, group: Group, moments: Moments, count: Tensor) -> Tensor:
        """Return √v + eps."""
        del count
        return moments["square"].sqrt().add_(group["eps"])


def _check_adaptive(betas: tuple[float, float], eps: float) -> None:
    if not isinstance(betas, tuple | list) or len(betas) != 2:
        raise ValueError(f"betas must be a pair of numbers, got {betas!r}")
    for beta in betas:
        check_real("betas", beta, at_least=0, below=1)
    check_real("eps", eps, above=0)


def _bias(beta: float, count: Tensor, dtype: torch.dtype) -> Tensor:
    """Return 1 − βᵗ, computed in float64 because it cancels."""
    return (1 - beta ** count.to(torch.float64)).to(dtype)
