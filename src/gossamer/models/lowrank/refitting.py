"""Second factors fitted anew, layer after layer, to what the split layers before them really pass on.

Factors of a layer are fitted to its inputs in the whole network. In the compressed one it is given others, with the
errors of all layers before it, and its second factor can make up for some of them: it is the least squares solution for
the whole layer's outputs, in the whole network, by what the first factor makes of the compressed one's inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.core.progress import progress_bar
from gossamer.models.lowrank.answers import AnsweredBatches, Guide
from gossamer.models.lowrank.batches import Batch, BatchSource
from gossamer.models.lowrank.channels import ChannelMasks
from gossamer.models.lowrank.counting import evaluating
from gossamer.models.lowrank.module import LowRankConvolution, LowRankLinear
from gossamer.models.lowrank.observing import Call
from gossamer.models.lowrank.search import Allocation, MaskedNetwork, polished
from gossamer.models.lowrank.sites import Site

FITTED_ON, JUDGED_ON = 4, 4  # batches, where data have as many
MAX_ROWS = 16384  # of a layer's outputs that one batch adds: more tell nothing new
SHRINKAGE = 1e-3  # towards the factor there was, as a share of the mean square of what it is multiplied with
SEED = 0

SplitLayer = LowRankConvolution | LowRankLinear


def is_refittable(site: Site) -> bool:
    """Say whether a site, where it is split, can be fitted anew: one module, used once per pass.

    A recurrent layer is given what it made of its own last output: least squares would change its inputs, too.
    """
    return len(site.modules) == len(site.uses) == 1 and not isinstance(site.first, nn.Embedding)


def layers_to_refit(calls: Iterable[Call], small: nn.Module) -> list[Site]:
    """Return the sites that are split in `small` and can be fitted anew, in the order of the `calls` of a pass."""
    modules = dict(small.named_modules())
    sites = dict.fromkeys(call.site for call in calls)
    return [site for site in sites if is_refittable(site) and isinstance(modules.get(site.name), SplitLayer)]


@torch.no_grad()
def refit_where_better_(
    small: nn.Module,
    whole: nn.Module,
    sites: Sequence[Site],
    data: BatchSource,
    guide: tuple[Guide, BatchSource | AnsweredBatches],
    *,
    polish_numbers: Sequence[int],
    batch_statistics: bool,
) -> bool:
    """Fit second factors anew, polish masks on them, and say whether `small` is better for it; else it stays as it was.

    Masks are polished on the batches `polish_numbers`, none for allocators that have no masks. Better is what the guide
    says on batches that factors were not fitted anew on, where data have more of them.
    """
    batches = data.first(FITTED_ON + JUDGED_ON)
    judged = range(FITTED_ON, len(batches)) if len(batches) > FITTED_ON else range(len(batches))
    network = MaskedNetwork(small, [], [], *guide, batch_statistics=batch_statistics)
    weights = [layer[1].weight for layer in _split_layers(small)]
    candidates: list[tuple[float, list[Tensor]]] = []

    def note() -> None:
        candidates.append((network.score([], judged), [weight.detach().clone() for weight in weights]))

    note()
    refit_(small, whole, sites, batches[:FITTED_ON], batch_statistics=batch_statistics)
    note()
    if polish_numbers:
        _polish_(small, guide, polish_numbers, batch_statistics)
        note()
    best = min(candidates, key=itemgetter(0))
    network.restore()
    for weight, kept in zip(weights, best[1], strict=True):
        weight.copy_(kept)
    return best is not candidates[0]


@dataclass(frozen=True)
class _SecondFactor:
    """The weight whose inputs are a layer's kept triplets: masks on them need no matrix."""

    weight: nn.Parameter

    def to_matrix(self, weight: Tensor) -> Tensor:
        return weight

    def from_matrix(self, matrix: Tensor) -> Tensor:
        return matrix


def _polish_(
    small: nn.Module,
    guide: tuple[Guide, BatchSource | AnsweredBatches],
    numbers: Sequence[int],
    batch_statistics: bool,
) -> None:
    """Adjust masks on the triplets of all split layers, and fold them into the second factors."""
    weights = [layer[1].weight for layer in _split_layers(small)]
    ranks = [weight.shape[1] for weight in weights]
    masks = [ChannelMasks(weight, np.arange(rank)) for weight, rank in zip(weights, ranks, strict=True)]
    network = MaskedNetwork(
        small, [_SecondFactor(weight) for weight in weights], masks, *guide, batch_statistics=batch_statistics
    )
    begin = Allocation(ranks, [np.arange(rank) for rank in ranks], [np.ones(rank) for rank in ranks])
    network.set_masks(polished(network, begin, numbers).masks)


def _split_layers(small: nn.Module) -> list[Any]:
    """Return the split layers, those that share a second factor once."""
    layers = [module for module in small.modules() if isinstance(module, SplitLayer)]
    return list({id(layer[1].weight): layer for layer in layers}.values())


@torch.no_grad()
def refit_(
    small: nn.Module, whole: nn.Module, sites: Sequence[Site], batches: Sequence[Batch], *, batch_statistics: bool
) -> None:
    """Set the second factor P of each split layer to that of least E‖y − P z‖², in the order of `sites`.

    y is what the layer gives in the `whole` network, without its bias, and z what the first factor makes of its inputs
    in the `small` one, whose layers before it have been fitted already. With `batch_statistics` batch norms go by those
    of each batch, as recalibrated ones will; a mean in front of one is then of no account.
    """
    generator = torch.Generator().manual_seed(SEED)
    with progress_bar() as bar:
        task = bar.add_task("fitting layers anew", total=len(sites), note="")
        for site in sites:
            layer: Any = small.get_submodule(site.name)
            original = whole.get_submodule(site.name)
            moments = _Moments(is_centred=batch_statistics and site.is_normalised)
            for batch in batches:
                given = _seen_at(layer, small, batch, is_input=True, batch_statistics=batch_statistics)
                wanted = _seen_at(original, whole, batch, is_input=False, batch_statistics=False)
                if given is not None and wanted is not None:
                    moments.add(_features(layer, given), _targets(layer, wanted), generator)
            weight = layer[1].weight
            weight.copy_(_weight_from(moments.solution(_matrix_of(weight, layer)), weight))
            bar.update(task, advance=1, note=site.name)


class _Reached(Exception):
    """A pass has come to the layer that was asked about: what comes after it is not needed."""


def _seen_at(
    layer: nn.Module, model: nn.Module, batch: Batch, *, is_input: bool, batch_statistics: bool
) -> Tensor | None:
    """Return what a layer is given, or what it returns, in a pass that ends there; None where the pass passes it by."""
    seen: list[Tensor] = []

    def before(_: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        seen.append(inputs[0] if inputs else named["input"])
        raise _Reached

    def after(*passed: Any) -> None:  # the layer, its inputs and its output
        seen.append(passed[-1])
        raise _Reached

    hook = layer.register_forward_pre_hook(before, with_kwargs=True) if is_input else layer.register_forward_hook(after)
    try:
        with evaluating(model, batch_statistics=batch_statistics):
            model(*batch[0])
    except _Reached:
        pass
    finally:
        hook.remove()
    return seen[0] if seen else None


class _Moments:
    """Streaming second moments of features z and targets y, for a least squares fit in each group."""

    def __init__(self, *, is_centred: bool) -> None:
        self.is_centred = is_centred
        self.count = 0
        self.square: Any = 0.0
        self.cross: Any = 0.0
        self.sums: Any = (0.0, 0.0)

    def add(
        self, features: Float[Tensor, "G N z"], targets: Float[Tensor, "G N y"], generator: torch.Generator
    ) -> None:
        number = features.shape[1]
        if number > MAX_ROWS:
            chosen = torch.randint(number, (MAX_ROWS,), generator=generator).to(features.device)
            features, targets = features[:, chosen], targets[:, chosen]
        features, targets = features.double(), targets.double()
        self.count += features.shape[1]
        self.square = self.square + features.mT @ features
        self.cross = self.cross + features.mT @ targets
        self.sums = self.sums[0] + features.sum(dim=1), self.sums[1] + targets.sum(dim=1)

    def solution(self, before: Float[Tensor, "G z y"]) -> Float[Tensor, "G z y"]:
        """Return the factor of least squares, a little shrunk towards the one `before`."""
        if not self.count:
            return before
        square, cross = self.square / self.count, self.cross / self.count
        if self.is_centred:
            means = [total / self.count for total in self.sums]
            square = square - means[0][:, :, None] * means[0][:, None, :]
            cross = cross - means[0][:, :, None] * means[1][:, None, :]
        mean = square.diagonal(dim1=1, dim2=2).mean()
        if not torch.isfinite(square).all() or not torch.isfinite(cross).all() or mean <= 0:
            return before  # nothing to learn from
        ridge = SHRINKAGE * mean
        definite = square + ridge * torch.eye(square.shape[1], dtype=square.dtype, device=square.device)
        solved: Tensor = torch.linalg.solve(definite, cross + ridge * before.double())
        return solved


def _features(layer: Any, inputs: Tensor) -> Float[Tensor, "G N z"]:
    """Return what the second factor is multiplied with, a row for every place of the output."""
    first, second = layer
    between = first(inputs)
    if isinstance(second, nn.Linear):
        rows: Tensor = between.reshape(1, -1, between.shape[-1])
        return rows
    # A kernel for every weight of a group's output, 1 there: the convolution itself lays its patches out.
    size = second.weight[0].numel()
    ones = torch.eye(size, dtype=between.dtype, device=between.device).reshape(size, *second.weight.shape[1:])
    patches = second._conv_forward(between, ones.repeat(second.groups, *[1] * (ones.dim() - 1)), None)
    return _rows(patches, second)


def _targets(layer: Any, outputs: Tensor) -> Float[Tensor, "G N y"]:
    second = layer[1]
    if isinstance(second, nn.Linear):
        return (outputs if second.bias is None else outputs - second.bias).reshape(1, -1, outputs.shape[-1])
    rows = _rows(outputs, second)
    return rows if second.bias is None else rows - second.bias.reshape(second.groups, 1, -1)


def _rows(outputs: Tensor, second: Any) -> Float[Tensor, "G N c"]:
    """Return the outputs of a convolution, batched or not, as rows of each group's channels."""
    batched = outputs if outputs.dim() == second.weight.dim() else outputs.unsqueeze(0)
    grouped = batched.reshape(len(batched), second.groups, -1, batched[0, 0].numel())
    return grouped.permute(1, 0, 3, 2).flatten(1, 2)


def _matrix_of(weight: Tensor, layer: Any) -> Float[Tensor, "G z y"]:
    groups = getattr(layer[1], "groups", 1)
    return weight.reshape(groups, weight.shape[0] // groups, -1).mT


def _weight_from(matrix: Float[Tensor, "G z y"], weight: Tensor) -> Tensor:
    return matrix.mT.reshape(weight.shape).to(weight.dtype)
