"""Channels that can be cut out of a network: between two convolutions, where nothing else sees them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.lowrank.assembly import replace_module_
from gossamer.models.lowrank.batches import Batch
from gossamer.models.lowrank.flow import Flow, owner_of, owners_of, watch_flow
from gossamer.models.lowrank.sites import check_patterns, matches

# What may stand between the two convolutions: each channel of the output from the same channel of the input alone.
_CHANNELWISE = {
    torch.relu,
    torch.relu_,
    functional.relu,
    functional.relu6,
    functional.leaky_relu,
    functional.silu,
    functional.gelu,
    functional.dropout,
}
_CONVOLUTIONS = {torch.conv2d, functional.conv2d}


@dataclass(eq=False)
class ChannelGroup:
    """The channels that one convolution gives and another takes, by way of a batch norm or none.

    A mask on them is a factor on the second weight's input channels, whatever stands between. `order` are the channels
    by falling importance, which is the order of masks.
    """

    modules: dict[str, nn.Module]  # first convolution, its batch norm where there is one, second convolution
    order: Int[np.ndarray, " C"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    stays: str | None = None

    @property
    def first(self) -> nn.Conv2d:
        """The convolution that gives the channels."""
        return next(iter(self.modules.values()))  # type: ignore[return-value]

    @property
    def second(self) -> nn.Conv2d:
        """The convolution that takes them."""
        return list(self.modules.values())[-1]  # type: ignore[return-value]

    @property
    def norm(self) -> nn.BatchNorm2d | None:
        """The batch norm between them."""
        return list(self.modules.values())[1] if len(self.modules) == 3 else None  # type: ignore[return-value]

    @property
    def num_channels(self) -> int:
        """How many channels there are."""
        return self.first.out_channels

    @property
    def weight(self) -> nn.Parameter:
        """The weight that masks are multiplied to."""
        return self.second.weight  # type: ignore[return-value]

    def to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as it is: masks need no matrix here."""
        return weight

    def from_matrix(self, matrix: Tensor) -> Tensor:
        """Return the weight as it is."""
        return matrix

    def channel_params(self) -> int:
        """Return how many parameters one channel takes."""
        params = self.first.weight[0].numel() + self.second.weight[:, 0].numel()
        return params + (self.first.bias is not None) + sum(1 for _ in _per_channel(self.norm, buffers=False))

    def channel_bytes(self) -> int:
        """Return the bytes of one channel, the statistics of its batch norm included."""
        size = self.weight.element_size()
        statistics = sum(1 for _ in _per_channel(self.norm)) - sum(1 for _ in _per_channel(self.norm, buffers=False))
        return size * (self.channel_params() + statistics)


class ChannelMasks:
    """Masks on the input channels of a weight, in the group's order, and their gradients."""

    def __init__(self, weight: Float[Tensor, "o c *kernel"], order: Int[np.ndarray, " c"]) -> None:
        self.original, self.order = weight.detach().clone(), torch.from_numpy(order)

    def product(self, masks: Float[Tensor, " c"]) -> Float[Tensor, "o c *kernel"]:
        """Return the weight with every channel multiplied by its mask."""
        spread = torch.zeros_like(masks)
        spread[self.order] = masks
        return self.original * spread.to(self.original).reshape(1, -1, *[1] * (self.original.dim() - 2))

    def mask_gradient(self, gradient: Float[Tensor, "o c *kernel"]) -> Float[Tensor, " c"]:
        """Return ∂L/∂m_c = Σ w ∂L/∂w over the weights of channel c."""
        return (self.original * gradient).transpose(0, 1).flatten(1).sum(dim=1)[self.order]


@torch.no_grad()
def find_groups(
    model: nn.Module, example: Batch, *, keep: Collection[str] = (), only: Collection[str] | None = None
) -> list[ChannelGroup]:
    """Return the channels between two convolutions that only those two see, found by watching the example pass.

    No convolution is in two groups, so that costs stay linear in the number of channels: of a long chain every second
    gap is taken. In a residual network these are the inner channels of its blocks. `keep` and `only` are patterns of
    the first convolution's name.
    """
    known = [name for name, module in model.named_modules() if isinstance(module, nn.Conv2d)]
    check_patterns("keep", keep, known)
    check_patterns("only", only or (), known)
    flow = watch_flow(model, example)
    owners = owners_of(model)
    taken: set[nn.Module] = set()
    groups = []
    for number, (func, *_) in enumerate(flow.calls):
        if func not in _CONVOLUTIONS:
            continue
        modules = _follow(flow, owners, number)
        if modules and not taken & set(modules.values()) and _is_used_once(flow.calls, modules):
            taken |= set(modules.values())
            name = next(iter(modules))
            group = ChannelGroup(modules)
            if matches(name, keep) or (only is not None and not matches(name, only)):
                group.stays = "kept by name" if matches(name, keep) else "not among those to cut"
            groups.append(group)
    return groups


def cut_channels_(
    model: nn.Module, group: ChannelGroup, channels: Int[np.ndarray, " n"], masks: Float[np.ndarray, " n"]
) -> None:
    """Keep only some channels of a group, their masks folded into the second convolution; all layers are ordinary."""
    kept = torch.from_numpy(channels)
    for old, narrow in zip((group.first, group.second), narrowed(group, channels, masks), strict=True):
        replace_module_(model, old, narrow)
    norm = group.norm
    if norm is not None:
        for name, value in _per_channel(norm):
            cut = value.detach()[kept].clone()
            setattr(norm, name, _parameter(cut, value) if isinstance(value, nn.Parameter) else cut)
        norm.num_features = len(channels)


@torch.no_grad()
def narrowed(
    group: ChannelGroup, channels: Int[np.ndarray, " n"], masks: Float[np.ndarray, " n"]
) -> tuple[nn.Conv2d, nn.Conv2d]:
    """Return both convolutions of a group with some of its channels alone, masks folded into the second."""
    kept, factors = torch.from_numpy(channels), torch.from_numpy(masks).to(group.weight)
    first, second = _resized(group.first, len(channels), None), _resized(group.second, None, len(channels))
    first.weight = _parameter(group.first.weight[kept], group.first.weight)
    if group.first.bias is not None:
        first.bias = _parameter(group.first.bias[kept], group.first.bias)
    second.weight = _parameter(group.second.weight[:, kept] * factors[None, :, None, None], group.second.weight)
    second.bias = group.second.bias
    return first, second


def prune_like_(model: nn.Module, widths: dict[tuple[str, ...], int]) -> nn.Module:
    """Cut a whole network to the widths of one that was pruned, zeros in it, and return it; names as in its report."""
    found = dict(model.named_modules())
    for names, width in widths.items():
        if not all(name in found for name in names):
            raise ValueError(f"widths must name layers of the network, got {', '.join(names)}")
        group = ChannelGroup({name: found[name] for name in names})
        if not 1 <= width <= group.num_channels:
            raise ValueError(f"width of {names[0]} must be from 1 to {group.num_channels}, got {width}")
        cut_channels_(model, group, np.arange(width), np.zeros(width))
    return model


def _follow(flow: Flow, owners: dict[int, tuple[str, nn.Module]], number: int) -> dict[str, nn.Module]:
    """Return the modules from one convolution to the next, or none where something else sees the channels."""
    calls = flow.calls
    name, module = owner_of(calls[number][1], owners)
    if not isinstance(module, nn.Conv2d) or module.groups != 1:
        return {}
    found: dict[str, nn.Module] = {name: module}
    while True:
        output = calls[number][2]
        after = flow.users(output) if isinstance(output, Tensor) else []
        if len(after) != 1 or after[0] <= number:
            return {}
        (number,) = after
        func, inputs, _ = calls[number]
        name, module = owner_of(inputs, owners)
        if func in _CONVOLUTIONS:
            is_plain = isinstance(module, nn.Conv2d) and module.groups == 1 and inputs[0] is output
            return {**found, name: module} if is_plain and name not in found else {}  # type: ignore[dict-item]
        if func is functional.batch_norm and isinstance(module, nn.BatchNorm2d) and len(found) == 1:
            found[name] = module
        elif func not in _CHANNELWISE:
            return {}


def _is_used_once(calls: Sequence[tuple[Any, list[Tensor], Any]], modules: dict[str, nn.Module]) -> bool:
    own = {id(parameter) for module in modules.values() for parameter in module.parameters()}
    return sum(any(id(tensor) in own for tensor in inputs) for _, inputs, _ in calls) == len(modules)


def _per_channel(norm: nn.Module | None, *, buffers: bool = True) -> list[tuple[str, Tensor]]:
    """Return what a batch norm stores per channel."""
    if norm is None:
        return []
    held = [*norm.named_parameters(), *(norm.named_buffers() if buffers else ())]
    return [(name, value) for name, value in held if value is not None and value.dim() == 1]


def _resized(module: nn.Conv2d, num_out: int | None, num_in: int | None) -> Any:
    with torch.device("meta"):  # weights are given next, and nobody's generator moves
        made = nn.Conv2d(
            num_in or module.in_channels,
            num_out or module.out_channels,
            module.kernel_size,  # type: ignore[arg-type]
            module.stride,  # type: ignore[arg-type]
            module.padding,  # type: ignore[arg-type]
            module.dilation,  # type: ignore[arg-type]
            bias=False,
            padding_mode=module.padding_mode,
        )
    return made.train(module.training)


def _parameter(values: Tensor, like: Tensor) -> nn.Parameter:
    return nn.Parameter(values.detach().contiguous().clone(), requires_grad=like.requires_grad)
