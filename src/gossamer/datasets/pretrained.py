"""Trained CIFAR-10 networks as named tensors, for compression experiments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Source, check_count

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class _Network:
    """A file, its number of stored values (running statistics included), and where it comes from."""

    file: str
    title: str
    num_values: int
    accuracy: str
    homepage: str
    licence: str


AKAMASTER = ("https://github.com/akamaster/pytorch_resnet_cifar10", "BSD-2-Clause")
COBLA = ("https://github.com/chongli-uw/cobla", "none stated")
NETWORKS = {
    "cifar10-resnet20": _Network("resnet20.safetensors", "ResNet-20", 271_098, "91.73 %", *AKAMASTER),
    "cifar10-resnet32": _Network("resnet32.safetensors", "ResNet-32", 466_426, "92.63 %", *AKAMASTER),
    "cifar10-resnet56": _Network("resnet56.safetensors", "ResNet-56", 857_082, "93.39 %", *AKAMASTER),
    "cifar10-nin": _Network("cifar10_nin.safetensors", "Network-in-Network", 966_986, "90.45 %", *COBLA),
}
# The authors publish pickled checkpoints only, which are never opened here: somebody who trusts them converts them.
ADVICE = (
    "make it from the authors' checkpoint at {homepage} with torch.load(path, weights_only=True, "
    "map_location='cpu') and safetensors.torch.save_file, keys without the prefix 'module.'"
)


def load_weights(name: str) -> dict[str, Tensor]:
    """Return the tensors of a trained network: "cifar10-resnet20", "-resnet32", "-resnet56" or "cifar10-nin".

    The ResNets take images / 255 with mean (.485, .456, .406) and standard deviation (.229, .224, .225) removed; the
    NIN takes whitened images.
    """
    if name not in NETWORKS:
        raise ValueError(f"name must be one of {', '.join(map(repr, NETWORKS))}, got {name!r}")
    network = NETWORKS[name]
    files = SOURCES[name].obtain()
    path = files.paths[network.file]
    # Here, so that listing data sets does not wait for torch.
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(files.read(network.file))
    except SafetensorError as error:
        raise ValueError(f"{path} must be a safetensors file, got: {error}") from None
    check_count("values", sum(tensor.numel() for tensor in tensors.values()), network.num_values, path)
    return tensors


SOURCES = {
    name: Source("pretrained", ((network.file,),), advice=ADVICE.format(homepage=network.homepage))
    for name, network in NETWORKS.items()
}

DATASETS = {
    name: Dataset(
        DatasetInfo(
            title=f"{network.title} trained on CIFAR-10",
            kind="dict of tensors",
            size=f"{network.num_values:,} values, accuracy {network.accuracy}",
            licence=network.licence,
            homepage=network.homepage,
            citation=network.homepage,
        ),
        partial(load_weights, name),
        SOURCES[name],
    )
    for name, network in NETWORKS.items()
}
