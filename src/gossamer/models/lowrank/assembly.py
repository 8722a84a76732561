"""From chosen triplets to a network of ordinary layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from gossamer.core.checks import check_int
from gossamer.models.lowrank.factors import Factors
from gossamer.models.lowrank.matrices import convolution_factors
from gossamer.models.lowrank.module import LowRankConvolution, LowRankEmbedding, LowRankLinear, TiedOutput
from gossamer.models.lowrank.sites import Convolution, Site, find_sites
from gossamer.networks.encoders import settle_encoders_
from gossamer.networks.unrolled import can_be_unrolled, unroll


def split_sites_(model: nn.Module, chosen: Mapping[Site, Factors]) -> None:
    """Replace in place every module that holds a chosen site's weight; what was shared stays shared."""
    for site, factors in chosen.items():
        for old, new in zip(site.modules.values(), build_layers(site, factors), strict=True):
            new.train(old.training)
            replace_module_(model, old, new)
    settle_encoders_(model)


def build_layers(site: Site, factors: Factors) -> list[nn.Module]:
    """Return what stands for each module of a site, all with the same parameters."""
    if isinstance(site.first, Convolution):
        shape = tuple(site.weight.shape)
        kernels = convolution_factors(factors.left, factors.right, shape, site.scheme)
        before, after = (_parameter(kernel, site) for kernel in kernels)
        return [
            LowRankConvolution(module, before, after, scheme=site.scheme)
            for module in site.modules.values()
            if isinstance(module, Convolution)
        ]
    left, right = factors.left[0], factors.right[0]
    if any(isinstance(module, nn.Embedding) for module in site.modules.values()):
        return _tables(site, left, right)
    first, second = _parameter(right, site), _parameter(left, site)
    made: list[nn.Module] = []
    for module in site.modules.values():
        assert isinstance(module, nn.Linear)
        layer = _empty(LowRankLinear, module.in_features, module.out_features, len(right), bias=False)
        layer[0].weight, layer[1].weight = first, second
        layer[1].bias = module.bias
        made.append(layer)
    return made


def _tables(site: Site, left: Tensor, right: Tensor) -> list[nn.Module]:
    codes, expand = _parameter(left, site), _parameter(right.mT, site)
    made: list[nn.Module] = []
    table: LowRankEmbedding | None = None
    for module in site.modules.values():
        if isinstance(module, nn.Embedding):
            table = _empty(
                LowRankEmbedding, module.num_embeddings, module.embedding_dim, left.shape[1], module.padding_idx
            )
            table.codes.weight, table.expand.weight = codes, expand
            made.append(table)
        else:
            made.append(module)  # tied outputs wait for the table, which may come later
    assert table is not None
    return [TiedOutput(table, module.bias) if isinstance(module, nn.Linear) else module for module in made]


def unroll_(model: nn.Module, except_for: set[nn.Module]) -> dict[nn.Module, nn.Module]:
    """Replace recurrent networks and attention by linear layers; return what each new module stands for.

    Attention is copied piece by piece: one that shares a weight with another module stays as it is.
    """
    found = [
        module
        for module in model.modules()
        if can_be_unrolled(module) and module not in except_for and not _shares_attention(model, module)
    ]
    originals = {}
    for module in found:
        new = unroll(module)
        replace_module_(model, module, new)
        originals[new] = module
    settle_encoders_(model)
    return originals


def _shares_attention(model: nn.Module, module: nn.Module) -> bool:
    if not isinstance(module, nn.MultiheadAttention):
        return False
    own, parts = {id(parameter) for parameter in module.parameters()}, set(module.modules())
    others = [other for other in model.modules() if other not in parts]
    return any(id(parameter) in own for other in others for parameter in other._parameters.values())


def roll_up_(model: nn.Module, originals: Mapping[nn.Module, nn.Module]) -> None:
    """Put those back of which nothing was split: torch's own kernels are faster than a loop."""
    for new, old in originals.items():
        if not any(isinstance(part, LowRankLinear | TiedOutput) for part in new.modules()):
            replace_module_(model, new, old)
    settle_encoders_(model)


def replace_module_(model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Put `new` wherever `old` hangs."""
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if child is old:
                parent._modules[name] = new


def _parameter(values: Tensor, site: Site) -> nn.Parameter:
    weight = site.weight
    kept = values.detach().to(device=weight.device, dtype=weight.dtype).contiguous().clone()
    return nn.Parameter(kept, requires_grad=weight.requires_grad)


def _empty(kind: Any, *arguments: Any, **options: Any) -> Any:
    """Make a module without drawing numbers: its weights are given next, and nobody's generator moves."""
    with torch.device("meta"):
        return kind(*arguments, **options)


def split_like_(model: nn.Module, ranks: Mapping[str, int], *, scheme: str) -> nn.Module:
    """Give a whole network the layers of one that was split with these ranks, zeros in them, and return it.

    Names are those of a compression report; the state of the split network fits afterwards.
    """
    holder = nn.Sequential(model)
    originals = unroll_(holder, set())
    sites = {site.name or type(site.first).__name__: site for site in find_sites(holder[0], scheme=scheme)}
    chosen = {}
    for name, rank in ranks.items():
        if name not in sites:
            raise ValueError(f"ranks must name layers of the network, got {name!r}")
        site = sites[name]
        rows, cols = site.matrix_shape()
        check_int(f"rank of {name}", rank, at_least=1, at_most=min(rows, cols))
        left, right = torch.zeros(site.groups, rows, rank), torch.zeros(site.groups, rank, cols)
        chosen[site] = Factors(left, right, torch.zeros(site.groups, rank))
    split_sites_(holder, chosen)
    roll_up_(holder, originals)
    return holder[0]
