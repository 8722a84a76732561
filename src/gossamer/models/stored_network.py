"""What families with networks share: widths of layers, seeded first weights, and the way through an artifact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from gossamer.core.checks import check_int
from gossamer.core.randomness import derive_seed, numpy_generator
from gossamer.networks.low_rank import LowRankConvolution, LowRankEmbedding, LowRankLinear
from gossamer.networks.unrolled import UnrolledLSTM
from gossamer.persistence import check_array, is_mapped, own_array

PREFIX = "network."


def check_widths(name: str, value: object, *, at_least: int = 0) -> tuple[int, ...]:
    """Return the widths of hidden layers, a list or tuple of `at_least` positive integers, or say what is wrong.

    >>> check_widths("decoder_dims", [400, 400])
    (400, 400)
    """
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not is_list or len(value) < at_least:  # type: ignore[arg-type]
        wanted = f"a list of {at_least} or more widths" if at_least else "a list of widths"
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return tuple(check_int(name, width, at_least=1) for width in value)  # type: ignore[attr-defined]


@contextmanager
def seeded_weights(random_state: int | None) -> Iterator[None]:
    """Let torch's modules draw their first weights from `random_state`, leaving the global generator as it was."""
    seed = int(numpy_generator(random_state).integers(2**63))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed, "network"))
        yield


def network_arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """Return the parameters of a network as the arrays of an artifact.

    >>> {name: array.shape for name, array in network_arrays(nn.Linear(2, 3)).items()}
    {'network.weight': (3, 2), 'network.bias': (3,)}
    """
    return {f"{PREFIX}{name}": value.detach().cpu().numpy() for name, value in network.state_dict().items()}


@torch.no_grad()
def restore_network(network: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Give the parameters of an artifact to a network made alike, set to evaluation; what does not fit is named.

    Layers that were split after training (`gossamer.compress`) are split here, too, as the names of arrays say.
    """
    split_like(network, arrays)
    wanted = network.state_dict(keep_vars=True)
    surplus = {name for name in arrays if name.startswith(PREFIX)} - {f"{PREFIX}{name}" for name in wanted}
    if surplus:
        raise ValueError(f"arrays must be those of the network, got also {', '.join(sorted(surplus))}")
    for name, value in wanted.items():
        stored = check_array(arrays, f"{PREFIX}{name}", np.float32, tuple(value.shape))
        take_array_(value, stored)
    network.eval()


def take_array_(value: torch.Tensor, stored: np.ndarray) -> None:
    """Let a parameter or buffer lie in the pages of an artifact's file, which processes share; else copy into it.

    It stays the same object, so that layers which share a parameter go on sharing it. `stored` is of its shape.
    """
    tensor = torch.from_numpy(own_array(stored))
    if is_mapped(stored) and tensor.dtype == value.dtype and value.device.type == "cpu":
        value.data = tensor
    else:
        value.data.copy_(tensor)


def split_like(network: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Split those layers of a network that were split when its arrays were stored, as their names say."""
    _unroll_like(network, arrays)
    for name, module in list(network.named_modules()):
        first = arrays.get(f"{PREFIX}{name}.{'codes' if isinstance(module, nn.Embedding) else '0'}.weight")
        split = None if first is None else _split_layer(module, first)
        if split is not None:
            parent, _, child = name.rpartition(".")
            setattr(network.get_submodule(parent), child, split)


def _split_layer(module: nn.Module, first: np.ndarray) -> nn.Module | None:
    """Return the two layers of which `first` is the first weight; None for what is not split, or not so."""
    if type(module) is nn.Linear and first.ndim == 2:
        return LowRankLinear(module.in_features, module.out_features, len(first), bias=module.bias is not None)
    if type(module) is nn.Embedding and first.ndim == 2:
        return LowRankEmbedding(module.num_embeddings, module.embedding_dim, first.shape[1], module.padding_idx)
    if type(module) is nn.Conv2d and first.ndim == 4:
        return _split_convolution(module, first)
    return None


def _split_convolution(module: nn.Conv2d, first: np.ndarray) -> nn.Module:
    height, width = module.kernel_size
    # Where both schemes have kernels of one shape, they are the same function.
    scheme = "channel" if first.shape[2:] == (height, width) else "spatial"
    kernels = [(height, width), (1, 1)] if scheme == "channel" else [(height, 1), (1, width)]
    channels = (len(first), module.in_channels // module.groups), (module.out_channels, len(first) // module.groups)
    before, after = (
        nn.Parameter(torch.zeros(*sides, *kernel)) for sides, kernel in zip(channels, kernels, strict=True)
    )
    return LowRankConvolution(module, before, after, scheme=scheme)


def _unroll_like(network: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Take those LSTMs apart of which something was split: their matrices are layers then."""
    for name, module in list(network.named_modules()):
        if isinstance(module, nn.LSTM) and any(array.startswith(f"{PREFIX}{name}.directions.") for array in arrays):
            parent, _, child = name.rpartition(".")
            setattr(network.get_submodule(parent), child, UnrolledLSTM(module))
