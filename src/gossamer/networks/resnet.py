"""Residual networks for small images (He et al. 2016, section 4.2), with shortcuts that have no parameters."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int

WIDTHS = (16, 32, 64)


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions around a shortcut; where the image shrinks, the shortcut skips pixels and pads channels."""

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.stride = stride
        self.missing = channels - in_channels

    def forward(self, images: Float[Tensor, "B c h w"]) -> Float[Tensor, "B f h2 w2"]:
        """Return the block's response."""
        response = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(images)), inplace=True)))
        shortcut = images[:, :, :: self.stride, :: self.stride]
        if self.missing:
            before = self.missing // 2
            shortcut = functional.pad(shortcut, (0, 0, 0, 0, before, self.missing - before))
        return functional.relu(response + shortcut, inplace=True)


class ResNet(nn.Module):
    """A residual network of `depth` = 6n + 2 layers for images of 32 × 32, such as ResNet-20, -32 and -56.

    >>> ResNet(20)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(self, depth: int = 20, num_classes: int = 10, in_channels: int = 3) -> None:
        super().__init__()
        check_int("depth", depth, at_least=8)
        check_int("num_classes", num_classes, at_least=1)
        if (depth - 2) % 6:
            raise ValueError(f"depth must be 6n + 2, such as 20, 32 or 56, got {depth}")
        blocks = (depth - 2) // 6
        self.conv1 = nn.Conv2d(in_channels, WIDTHS[0], 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(WIDTHS[0])
        self.layer1 = _stage(WIDTHS[0], WIDTHS[0], blocks, stride=1)
        self.layer2 = _stage(WIDTHS[0], WIDTHS[1], blocks, stride=2)
        self.layer3 = _stage(WIDTHS[1], WIDTHS[2], blocks, stride=2)
        self.linear = nn.Linear(WIDTHS[2], num_classes)

    def forward(self, images: Float[Tensor, "B c h w"]) -> Float[Tensor, "B num_classes"]:
        """Return the logits of each image."""
        response = functional.relu(self.bn1(self.conv1(images)), inplace=True)
        response = self.layer3(self.layer2(self.layer1(response)))
        logits: Tensor = self.linear(torch.mean(response, dim=(2, 3)))
        return logits


def _stage(in_channels: int, channels: int, blocks: int, *, stride: int) -> nn.Sequential:
    first = ResidualBlock(in_channels, channels, stride)
    return nn.Sequential(first, *(ResidualBlock(channels, channels, 1) for _ in range(blocks - 1)))
