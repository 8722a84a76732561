"""How far a set of codes is from a prior: MMD with the inverse multi-quadratic kernel, the regulariser of MAT-VAE."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

SCALES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def inverse_multiquadratic(
    x: Float[Tensor, "N D"], y: Float[Tensor, "M D"], scales: tuple[float, ...] = SCALES
) -> Float[Tensor, "N M"]:
    """Return Σ_s c_s / (c_s + ‖x − y‖²) with c_s = 2 D s, the kernel of Wasserstein autoencoders.

    2 D is the mean of ‖x − y‖² for independent standard normal x and y, so the scales cover what is near and far.

    >>> inverse_multiquadratic(torch.zeros(1, 2), torch.tensor([[0.0, 0.0], [2.0, 0.0]]), (1.0,)).tolist()
    [[1.0, 0.5]]
    """
    squared = _squared_distances(x, y)
    kernel = torch.zeros_like(squared)
    for scale in scales:
        c = 2 * x.shape[1] * scale
        kernel = kernel + c / (c + squared)
    return kernel


def _squared_distances(x: Tensor, y: Tensor) -> Tensor:
    """Return ‖x − y‖² from norms and one product: no N × M × D numbers; rounding below 0 is cut off."""
    norms = x.square().sum(dim=1, keepdim=True) + y.square().sum(dim=1)
    return (norms - 2 * x @ y.T).clamp_min(0)


def mmd(x: Float[Tensor, "N D"], y: Float[Tensor, "M D"], scales: tuple[float, ...] = SCALES) -> Float[Tensor, ""]:
    """Return the unbiased estimate of MMD²: mean k(x, x') + mean k(y, y') − 2 mean k(x, y), pairs of different rows.

    Near 0, and as often below as above, where both sets are from one distribution. A set of a single row has no pairs:
    its own term is left out.
    """
    between = inverse_multiquadratic(x, y, scales).mean()
    return _mean_of_pairs(x, scales) + _mean_of_pairs(y, scales) - 2 * between


def _mean_of_pairs(x: Tensor, scales: tuple[float, ...]) -> Tensor:
    count = len(x)
    if count < 2:
        return x.new_zeros(())
    kernel = inverse_multiquadratic(x, x, scales)
    return (kernel.sum() - kernel.diagonal().sum()) / (count * (count - 1))
