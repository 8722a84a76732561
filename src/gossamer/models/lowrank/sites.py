"""Where a network can be split: every weight once, with all modules that hold it and every way it is used."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from torch import Tensor, nn

from gossamer.models.lowrank.matrices import (
    convolution_from_matrix,
    convolution_to_matrix,
    dense_from_matrix,
    dense_to_matrix,
)

KINDS: tuple[type[nn.Module], ...] = (nn.Linear, nn.Conv2d, nn.Conv1d, nn.Embedding)
Convolution = nn.Conv1d | nn.Conv2d


@dataclass(frozen=True)
class Use:
    """One way in which a weight is used on the example: MACs of the whole layer, and of each rank of the split one."""

    whole_macs: int
    rank_macs: int


@dataclass(eq=False)
class Site:
    """One weight: the modules that hold it by name, how it is a matrix, and its uses on the example."""

    weight: nn.Parameter
    modules: dict[str, nn.Module]
    scheme: str = "channel"
    uses: list[Use] = field(default_factory=list)
    stays: str | None = None  # why it is not split
    is_normalised: bool = False  # whether what comes out goes straight into batch norms

    @property
    def name(self) -> str:
        """The first name in the model."""
        return next(iter(self.modules))

    @property
    def first(self) -> nn.Module:
        """The first module that holds the weight."""
        return next(iter(self.modules.values()))

    @property
    def groups(self) -> int:
        """The number of matrices."""
        return self.first.groups if isinstance(self.first, Convolution) else 1

    def to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight, or its gradient, as (G, rows, cols)."""
        if isinstance(self.first, Convolution):
            return convolution_to_matrix(weight, self.groups, self.scheme)
        return dense_to_matrix(weight)

    def from_matrix(self, matrix: Tensor) -> Tensor:
        """Undo `to_matrix`."""
        if isinstance(self.first, Convolution):
            return convolution_from_matrix(matrix, tuple(self.weight.shape), self.scheme)
        return dense_from_matrix(matrix)

    def matrix_shape(self) -> tuple[int, int]:
        """Return rows and columns of each group's matrix."""
        _, rows, cols = self.to_matrix(self.weight).shape
        return rows, cols

    def rank_params(self) -> int:
        """Return how many numbers one rank stores."""
        return self.groups * sum(self.matrix_shape())


def find_sites(
    model: nn.Module, *, scheme: str, keep: Collection[str] = (), only: Collection[str] | None = None
) -> list[Site]:
    """Return all weights of linear layers, convolutions and embeddings, those that must stay with the reason.

    `keep` and `only` are patterns of names, as in a shell: `keep=["head", "layers.0.*"]`.
    """
    sites: dict[int, Site] = {}
    attentions = [module for module in model.modules() if isinstance(module, nn.MultiheadAttention)]
    inside = {part for attention in attentions for part in attention.modules()}
    known = [name for name, module in model.named_modules() if isinstance(module, nn.RNNBase | nn.MultiheadAttention)]
    for name, module in model.named_modules():
        if isinstance(module, KINDS) and "weight" in module._parameters:
            known.append(name or type(module).__name__)
            site = sites.setdefault(id(module.weight), Site(module.weight, {}))  # type: ignore[arg-type]
            site.modules[name] = module
            if isinstance(module, nn.Conv2d):
                site.scheme = scheme
    for argument, patterns in (("keep", keep), ("only", only or ())):
        check_pattern_list(argument, patterns)
        check_patterns(argument, patterns, known)
    for site in sites.values():
        site.stays = _reason_to_stay(site, keep, only)
        if site.first in inside:  # it is never called: its attention reads the weight
            site.stays = site.stays or "is part of an attention that stays whole"
    _mark_other_holders(model, sites)
    return list(sites.values())


def matches(name: str, patterns: Collection[str]) -> bool:
    """Say whether a layer's name, or that of something it is a part of, is one of the patterns.

    >>> matches("layers.0.conv", ["layers.*"]), matches("encoder.lstm.input", ["encoder"]), matches("head", ["he"])
    (True, True, False)
    """
    parts = name.split(".")
    names = [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    return any(fnmatchcase(one, pattern) for pattern in patterns for one in names)


def _reason_to_stay(site: Site, keep: Collection[str], only: Collection[str] | None) -> str | None:
    if site.weight.is_complex():
        return "has complex numbers"
    for name, module in site.modules.items():
        if matches(name or type(module).__name__, keep):
            return "kept by name"
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:
            return "has hooks"
        kind = next(kind for kind in KINDS if isinstance(module, kind))
        if type(module).forward is not kind.forward:
            return "has a forward of its own"
        for option in ("max_norm", "scale_grad_by_freq", "sparse"):
            if getattr(module, option, None):
                return f"has {option}"
    names = [name or type(module).__name__ for name, module in site.modules.items()]
    if only is not None and not any(matches(name, only) for name in names):
        return "not among those to split"
    kinds = {type(module) for module in site.modules.values()}
    if len(kinds) > 1 and any(isinstance(module, Convolution) for module in site.modules.values()):
        return "is shared between layers of different kinds"
    convolutions = [module for module in site.modules.values() if isinstance(module, Convolution)]
    if len({(one.groups, one.padding_mode) for one in convolutions}) > 1:
        return "is shared between convolutions of different groups or padding modes"
    return None


def _mark_other_holders(model: nn.Module, sites: dict[int, Site]) -> None:
    """A weight that a module of another kind holds, too, cannot be taken away from it."""
    for name, module in model.named_modules():
        for parameter in module._parameters.values():
            site = sites.get(id(parameter))
            if site is not None and module not in site.modules.values():
                site.stays = f"{name or 'the model'} holds its weight, too"


def check_pattern_list(argument: str, patterns: object) -> None:
    """Refuse what is no list of patterns."""
    is_list = isinstance(patterns, Collection) and not isinstance(patterns, str)
    if not is_list or not all(isinstance(pattern, str) for pattern in patterns):  # type: ignore[attr-defined]
        raise ValueError(f"{argument} must be a list of patterns, got {patterns!r}")


def check_patterns(argument: str, patterns: Collection[str], known: list[str]) -> None:
    """Refuse a pattern that matches none of the `known` names."""
    for pattern in patterns:
        if not any(matches(name, [pattern]) for name in known):
            shown = ", ".join(known[:20]) + (" …" if len(known) > 20 else "")
            raise ValueError(f"{argument} must match a layer, of {shown}; got {pattern!r}")
