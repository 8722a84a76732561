"""Layers of low rank: a linear layer or a convolution as two, a table as short vectors and a layer that widens them.

They live here because networks of every family may hold them, and be stored with them. Shapes of `forward` are in
words: TorchScript does not read jaxtyping's.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class LowRankLinear(nn.Sequential):
    """Two linear layers for one: x → Vᵀx → P(Vᵀx) + b.

    >>> layer = LowRankLinear(8, 6, 2, bias=True)
    >>> layer(torch.zeros(3, 8)).shape, layer.weight.shape
    (torch.Size([3, 6]), torch.Size([6, 8]))
    """

    __jit_unused_properties__ = ("weight", "bias")

    def __init__(self, in_features: int, out_features: int, rank: int, *, bias: bool) -> None:
        super().__init__(nn.Linear(in_features, rank, bias=False), nn.Linear(rank, out_features, bias=bias))
        self.in_features, self.out_features, self.rank = in_features, out_features, rank

    @property
    def weight(self) -> Float[Tensor, "out in"]:
        """The product of both weights, for code that reads it; computed anew every time."""
        return self[1].weight @ self[0].weight  # type: ignore[operator]

    @property
    def bias(self) -> Float[Tensor, " out"] | None:
        """The bias of the second layer."""
        return self[1].bias  # type: ignore[return-value]


class LowRankConvolution(nn.Sequential):
    """Two convolutions for one: k×1 then 1×k (`scheme` "spatial"), or k×k then 1×1 ("channel"), table 2.1 of COBLA.

    Stride, padding, dilation, groups and bias are those of `whole`; the kernels are `first` and `second`.

    >>> whole = nn.Conv2d(4, 6, 3, stride=2, padding=1)
    >>> kernels = nn.Parameter(torch.zeros(2, 4, 3, 1)), nn.Parameter(torch.zeros(6, 2, 1, 3))
    >>> images = torch.zeros(1, 4, 9, 9)
    >>> LowRankConvolution(whole, *kernels, scheme="spatial")(images).shape == whole(images).shape
    True
    """

    __jit_unused_properties__ = ("weight", "bias")

    def __init__(self, whole: nn.Conv1d | nn.Conv2d, first: nn.Parameter, second: nn.Parameter, *, scheme: str) -> None:
        axes, stride, padding, dilation = len(whole.kernel_size), whole.stride, whole.padding, whole.dilation
        if scheme == "spatial":
            place: list[Any] = [(stride[0], 1), _on_axis(padding, 0), (dilation[0], 1)]
            then: list[Any] = [(1, stride[1]), _on_axis(padding, 1), (1, dilation[1])]
        else:
            place, then = [stride, padding, dilation], [(1,) * axes, (0,) * axes, (1,) * axes]
        last = _convolution(whole, second, then, whole.padding_mode if scheme == "spatial" else "zeros")
        last.bias = whole.bias
        super().__init__(_convolution(whole, first, place, whole.padding_mode), last)
        self.in_channels, self.out_channels, self.groups = whole.in_channels, whole.out_channels, whole.groups
        self.kernel_size, self.stride = whole.kernel_size, whole.stride
        self.padding, self.dilation = whole.padding, whole.dilation

    @property
    def weight(self) -> Float[Tensor, "out in *kernel"]:
        """The kernel that both stand for, for code that reads it; computed anew every time."""
        first, second = (layer.weight.unflatten(0, (self.groups, -1)) for layer in self)  # type: ignore[operator]
        # Of the axes of a kernel each is 1 in one of the two: their product has them all.
        return torch.einsum("grc...,gor...->goc...", first, second).flatten(0, 1)

    @property
    def bias(self) -> Float[Tensor, " out"] | None:
        """The bias of the second layer."""
        return self[1].bias  # type: ignore[return-value]


def _convolution(whole: nn.Conv1d | nn.Conv2d, kernel: nn.Parameter, where: list[Any], padding_mode: str) -> Any:
    kind: Any = nn.Conv1d if isinstance(whole, nn.Conv1d) else nn.Conv2d
    sizes = (kernel.shape[1] * whole.groups, kernel.shape[0], tuple(kernel.shape[2:]))
    with torch.device("meta"):  # its kernel is given next: nothing is drawn, and nobody's generator moves
        layer = kind(*sizes, *where, groups=whole.groups, bias=False, padding_mode=padding_mode)
    layer.weight = kernel
    return layer


def _on_axis(padding: tuple[int, ...] | str, axis: int) -> tuple[int, ...] | str:
    if isinstance(padding, str):
        return padding
    return tuple(side if place == axis else 0 for place, side in enumerate(padding))


class LowRankEmbedding(nn.Module):
    """A table as V short vectors and one linear layer that widens them; `logits` is the tied output layer."""

    __jit_unused_properties__ = ("weight",)

    def __init__(self, num_embeddings: int, embedding_dim: int, rank: int, padding_idx: int | None = None) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.codes = nn.Embedding(num_embeddings, rank, padding_idx=padding_idx)
        self.expand = nn.Linear(rank, embedding_dim, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        """Return the vectors (…, D) of ids (…)."""
        vectors: Tensor = self.expand(self.codes(input))
        return vectors

    @torch.jit.export
    def logits(self, hidden: Tensor) -> Tensor:
        """Return hidden (…, D) · Eᵀ, (…, V), without ever making E."""
        return functional.linear(torch.matmul(hidden, self.expand.weight), self.codes.weight)

    @property
    def weight(self) -> Float[Tensor, "V D"]:
        """The whole table, for code that reads it; computed anew every time."""
        return self.codes.weight @ self.expand.weight.mT
