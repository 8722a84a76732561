"""Network in Network for small images (Lin, Chen and Yan 2014): convolutions followed by 1×1 convolutions."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int

# name, input channels, output channels, kernel
LAYERS = (
    ("conv1", 3, 192, 5),
    ("cccp1", 192, 160, 1),
    ("cccp2", 160, 96, 1),
    ("conv2", 96, 192, 5),
    ("cccp3", 192, 192, 1),
    ("cccp4", 192, 192, 1),
    ("conv3", 192, 192, 3),
    ("cccp5", 192, 192, 1),
)


class NIN(nn.Module):
    """Three blocks of a convolution and two 1×1 convolutions, each followed by ReLU; classes are averaged maps.

    >>> NIN()(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        check_int("num_classes", num_classes, at_least=1)
        for name, in_channels, channels, kernel in (*LAYERS, ("cccp6", 192, num_classes, 1)):
            self.add_module(name, nn.Conv2d(in_channels, channels, kernel, padding=kernel // 2))

    def forward(self, images: Float[Tensor, "B 3 h w"]) -> Float[Tensor, "B num_classes"]:
        """Return the logits of each image."""
        response = self._block(images, "conv1", "cccp1", "cccp2")
        response = functional.max_pool2d(response, 3, stride=2, ceil_mode=True)
        response = self._block(response, "conv2", "cccp3", "cccp4")
        response = functional.avg_pool2d(response, 3, stride=2, ceil_mode=True)
        response = self._block(response, "conv3", "cccp5", "cccp6")
        return torch.mean(response, dim=(2, 3))

    def _block(self, response: Tensor, *names: str) -> Tensor:
        for name in names:
            response = functional.relu(getattr(self, name)(response), inplace=True)
        return response


def names_from_caffe(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename Caffe blobs `data.<layer>.0` and `.1` to the weights and biases of this network.

    >>> list(names_from_caffe({"data.conv1.0": torch.zeros(1), "data.conv1.1": torch.zeros(1)}))
    ['conv1.weight', 'conv1.bias']
    """
    kinds = {"0": "weight", "1": "bias"}
    renamed = {}
    for name, tensor in tensors.items():
        _, layer, number = name.split(".")
        renamed[f"{layer}.{kinds[number]}"] = tensor
    return renamed
