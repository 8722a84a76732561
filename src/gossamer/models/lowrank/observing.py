"""What a network does with its weights on real data: shapes, inputs and their covariances, by watching torch's calls.

A weight is recognised wherever it is passed to `linear`, `conv1d`, `conv2d` or `embedding`, inside its module or not,
so tied and shared weights need no tracing and no knowledge of the model's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from gossamer.models.lowrank.sites import Site, Use

MAX_ROWS = 8192  # of a layer's inputs that one batch adds to a covariance: more tell nothing new
_KINDS: dict[Any, str] = {
    functional.linear: "linear",
    torch.conv1d: "conv",
    torch.conv2d: "conv",
    functional.conv1d: "conv",
    functional.conv2d: "conv",
    functional.embedding: "embedding",
}


@dataclass(frozen=True)
class Call:
    """A site's weight in one call: what kind, the input, the output (not detached), stride, padding and dilation."""

    site: Site
    kind: str
    inputs: Tensor
    output: Tensor
    stride: tuple[int, ...] = ()
    padding: tuple[int, ...] | str = ()
    dilation: tuple[int, ...] = ()


class WatchWeights(TorchFunctionMode):
    """Tell `see` of every call that involves a site's weight."""

    def __init__(self, sites: Iterable[Site], see: Callable[[Call], None]) -> None:
        super().__init__()
        self._sites = {id(site.weight): site for site in sites}
        self._see = see

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        kind = _KINDS.get(func)
        if kind is None:
            return output
        inputs, weight = _argument(args, kwargs, 0, "input"), _argument(args, kwargs, 1, "weight")
        site = self._sites.get(id(weight))
        if site is not None:
            places: dict[str, Any] = {}
            if kind == "conv":
                axes = weight.dim() - 2
                for position, (name, usual) in enumerate((("stride", 1), ("padding", 0), ("dilation", 1)), start=3):
                    places[name] = _per_axis(_argument(args, kwargs, position, name, usual), axes)
            self._see(Call(site, kind, inputs.detach(), output, **places))
        return output


class WatchNorms(TorchFunctionMode):
    """Note what batch norms are given: a layer right before one need not keep the mean of its outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[Tensor] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is functional.batch_norm:
            self.inputs.append(_argument(args, kwargs or {}, 0, "input"))
        return func(*args, **(kwargs or {}))


def use_of(call: Call) -> Use:
    """Return the multiply-adds of a call, whole and per rank of a split (section 2.2)."""
    site, weight = call.site, call.site.weight
    if call.kind == "embedding":
        return Use(0, call.inputs.numel() * weight.shape[1])
    if call.kind == "linear":
        rows = call.inputs.numel() // weight.shape[1]
        return Use(rows * weight.numel(), rows * (weight.shape[0] + weight.shape[1]))
    groups = site.groups
    batch = call.output.shape[0] if call.output.dim() == weight.dim() else 1
    places = call.output[0, 0].numel() if call.output.dim() == weight.dim() else call.output[0].numel()
    num_out, num_in, *kernel = weight.shape
    whole = batch * places * weight.numel()
    if site.scheme == "channel":
        return Use(whole, batch * places * (groups * num_in * _product(kernel) + num_out))
    height, width = kernel
    # Between the two layers the image has its new height and still its old width.
    between = call.output.shape[-2] * (call.inputs.shape[-1] - _width_padded_before(site))
    return Use(whole, batch * (between * groups * num_in * height + places * num_out * width))


def _width_padded_before(site: Site) -> int:
    """Return by how much a module has widened its input itself, as circular and reflecting padding do."""
    module = site.first
    if not isinstance(module, nn.Conv2d) or module.padding_mode == "zeros":
        return 0
    left, right, *_ = module._reversed_padding_repeated_twice
    return int(left) + int(right)


class InputStatistics:
    """Streaming second moments of what each site's weight is multiplied with, and counts of looked-up rows."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self.sites = list(sites)
        self._moments: dict[Site, Tensor] = {}
        self._sums: dict[Site, Tensor] = {}
        self._rows: dict[Site, int] = {}
        self._counts: dict[Site, Tensor] = {}

    def see(self, call: Call) -> None:
        """Add one call's inputs."""
        site = call.site
        if call.kind == "embedding":
            ids = call.inputs.flatten()
            counted = torch.bincount(ids, minlength=site.weight.shape[0]).to(torch.float64)
            self._counts[site] = self._counts.get(site, torch.zeros_like(counted)) + counted
            return
        rows = _patches(call) if call.kind == "conv" else call.inputs.reshape(1, -1, call.inputs.shape[-1])
        stride = -(-rows.shape[1] // MAX_ROWS)
        rows = rows[:, ::stride].to(torch.float32)
        moment = (rows.mT @ rows).to(torch.float64)
        total = rows.sum(dim=1, dtype=torch.float64)
        self._moments[site] = self._moments.get(site, torch.zeros_like(moment)) + moment
        self._sums[site] = self._sums.get(site, torch.zeros_like(total)) + total
        self._rows[site] = self._rows.get(site, 0) + rows.shape[1]

    def metric(self, site: Site, *, centred: bool = False) -> dict[str, Tensor]:
        """Return what `factorise` takes: the second moment of the inputs and, where there is one, a metric of the rows.

        `centred` moments are for layers whose mean output something else will take care of.
        """
        found: dict[str, Tensor] = {}
        if site in self._counts:
            found["row_weights"] = self._counts[site]
        if site in self._moments:
            count = max(1, self._rows[site])
            moment = self._moments[site] / count
            if centred:
                mean = self._sums[site] / count
                moment = moment - mean[:, :, None] * mean[:, None, :]
            if not torch.isfinite(moment).all():
                raise FloatingPointError(f"inputs of {site.name} must be finite, got NaN or infinity; check the data")
            found |= _spatial_metric(site, moment) if site.scheme == "spatial" else {"covariance": moment}
        return found


def _spatial_metric(site: Site, moment: Tensor) -> dict[str, Tensor]:
    """Divide the covariance of k×k patches into that of (channel, m) and that of the n taps, as if independent."""
    _, num_in, height, width = site.weight.shape
    full = moment.reshape(len(moment), num_in * height, width, num_in * height, width)
    columns = torch.einsum("gawbw->gab", full) / width
    taps = torch.einsum("gavaw->vw", full)
    return {"covariance": columns, "row_covariance": taps * width / taps.trace().clamp_min(1e-300)}


def _patches(call: Call) -> Tensor:
    """Return the patches (G, N, c·k) that a convolution multiplies its kernel with."""
    weight, inputs = call.site.weight, call.inputs
    kernel = tuple(weight.shape[2:])
    if inputs.dim() < weight.dim():
        inputs = inputs.unsqueeze(0)
    places = call.output.shape[-len(kernel) :]
    per_image = _product(places)
    keep = max(1, MAX_ROWS // max(1, per_image))
    inputs = inputs[:: -(-len(inputs) // keep)]
    before_after = [_padding(call, axis, kernel[axis]) for axis in range(len(kernel))]
    padded = functional.pad(inputs, [side for pair in reversed(before_after) for side in pair])
    stride, dilation = call.stride, call.dilation
    if len(kernel) == 1:
        padded, kernel, stride, dilation = padded.unsqueeze(-2), (1, *kernel), (1, *stride), (1, *dilation)
    columns = functional.unfold(padded, kernel, dilation=dilation, stride=stride)  # (N, C·k, L)
    grouped = columns.reshape(len(columns), call.site.groups, -1, columns.shape[-1])
    return grouped.permute(1, 0, 3, 2).flatten(1, 2)


def _padding(call: Call, axis: int, size: int) -> tuple[int, int]:
    if call.padding == "valid":
        return 0, 0
    if call.padding == "same":
        total = call.dilation[axis] * (size - 1)
        return total // 2, total - total // 2
    side = int(call.padding[axis])
    return side, side


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str, usual: Any = None) -> Any:
    return args[position] if len(args) > position else kwargs.get(name, usual)


def _per_axis(value: Any, axes: int) -> Any:
    if isinstance(value, str):
        return value
    return (int(value),) * axes if isinstance(value, int) else tuple(int(side) for side in value)


def _product(sizes: Iterable[int]) -> int:
    total = 1
    for size in sizes:
        total *= int(size)
    return total
