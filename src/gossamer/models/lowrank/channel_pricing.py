"""What cutting channels saves: counted costs, which are linear in their number, and milliseconds, which are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.models.lowrank.batches import Batch
from gossamer.models.lowrank.channels import ChannelGroup, narrowed
from gossamer.models.lowrank.counting import observe_uses
from gossamer.models.lowrank.pricing import price_times
from gossamer.models.lowrank.sites import find_sites
from gossamer.models.lowrank.timing import milliseconds_of, ranks_to_time

Inputs = Mapping[nn.Module, Tensor]  # what each convolution is given


def channel_costs(
    model: nn.Module, groups: Sequence[ChannelGroup], example: Batch
) -> tuple[list[dict[str, int]], Inputs]:
    """Return what one channel of each group costs, and what convolutions are given; MACs are those of the batch."""
    sites = find_sites(model, scheme="channel")
    calls = observe_uses(model, sites, example)
    macs = {site.first: sum(use.whole_macs for use in site.uses) for site in sites}
    costs = [
        {
            "macs": (macs[group.first] + macs[group.second]) // group.num_channels,
            "params": group.channel_params(),
            "bytes": group.channel_bytes(),
        }
        for group in groups
    ]
    return costs, {call.site.first: call.inputs for call in calls}


def price_channels(
    group: ChannelGroup, cost: Mapping[str, int], names: Sequence[str], inputs: Inputs
) -> Float[np.ndarray, "choices C"]:
    """Return the costs of leaving a group whole and of 1, 2, … all of its channels.

    Of milliseconds only those numbers of channels are open that were timed and are faster, and all of them: unlike a
    full rank, all channels are the layer itself, at which a search may begin.
    """
    numbers = np.concatenate([[group.num_channels], np.arange(1, group.num_channels + 1)]).astype(np.float64)
    columns = [_milliseconds(group, inputs) if name == "milliseconds" else cost[name] * numbers for name in names]
    return np.stack(columns, axis=1)


def _milliseconds(group: ChannelGroup, inputs: Inputs) -> Float[np.ndarray, " choices"]:
    widths = [width for width in ranks_to_time(group.num_channels, group.num_channels) if width < group.num_channels]
    costs = price_times(group.num_channels, widths, time_widths(group, inputs, widths))
    costs[-1] = costs[0]
    return costs


@torch.no_grad()
def time_widths(group: ChannelGroup, inputs: Inputs, widths: Sequence[int]) -> Float[np.ndarray, " n"]:
    """Return the milliseconds of both convolutions on the example: whole first, then with each number of channels."""
    images, between = inputs[group.first], inputs[group.second]

    def action(width: int) -> Callable[[], object]:
        first, second = narrowed(group, np.arange(width), np.ones(width))
        given = _first_channels(between, width)
        return lambda: (first(images), second(given))

    return np.array(milliseconds_of([action(width) for width in (group.num_channels, *widths)]))


def _first_channels(images: Tensor, width: int) -> Tensor:
    """Return the first channels of images, laid out in memory as these are."""
    is_last = images.dim() == 4 and images.is_contiguous(memory_format=torch.channels_last)
    layout = torch.channels_last if is_last and not images.is_contiguous() else torch.contiguous_format
    return images[..., :width, :, :].contiguous(memory_format=layout)
