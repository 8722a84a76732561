"""Parameters of a hidden semi-Markov model as a vector without constraints: what a network puts out and SPSA perturbs.

Probabilities are softplus and L1 normalisation of it, variances and rates softplus, means are standardised; a state
never follows itself, so a row of transitions has one entry less than there are states.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.models.markov.emissions import Parameters
from gossamer.models.markov.step import EMISSION

REAL, POSITIVE, SIMPLEX = "real", "positive", "simplex"
SMALLEST = 1e-3  # of a softplus, relative to its usual size: below it, everything is as good as zero
KINDS = {"means": REAL, "variances": POSITIVE, "rates": POSITIVE, "probs": SIMPLEX}


class Entry(NamedTuple):
    """One parameter: its shape without owners, its kind, and for reals and positive ones where and how large it is."""

    name: str
    shape: tuple[int, ...]
    kind: str
    centre: Float[Tensor, ...]
    scale: Float[Tensor, ...]


class Layout:
    """Which part of the vector is which parameter, for `num_states` states with these emissions."""

    def __init__(self, num_states: int, emission: dict[str, tuple[int, ...]], usual: Parameters) -> None:
        self.num_states = num_states
        self.entries = [
            _entry("initial", (num_states,), SIMPLEX, usual),
            _entry("transition", (num_states, num_states - 1), SIMPLEX, usual),
            _entry("duration.rates", (num_states,), POSITIVE, usual),
        ]
        for name, shape in emission.items():
            self.entries.append(_entry(EMISSION + name, shape, KINDS[name], usual))
        sizes = [int(torch.tensor(entry.shape).prod()) for entry in self.entries]
        self.size = sum(sizes)
        self._sizes = sizes

    def pack(self, parameters: Parameters) -> Float[Tensor, "B M"]:
        """Return the vectors of parameters with owners; differentiable."""
        parts = []
        for entry in self.entries:
            value = parameters[entry.name]
            if entry.name == "transition":
                value = value[:, ~torch.eye(self.num_states, dtype=torch.bool)].view(len(value), *entry.shape)
            parts.append(_unconstrained(entry, value).flatten(1))
        return torch.cat(parts, dim=1)

    def unpack(self, vectors: Float[Tensor, "B M"]) -> Parameters:
        """Return the parameters of vectors, each with its owner; differentiable."""
        parameters = {}
        for entry, part in zip(self.entries, torch.split(vectors, self._sizes, dim=1), strict=True):
            value = _constrained(entry, part.view(len(part), *entry.shape))
            parameters[entry.name] = _with_diagonal(value) if entry.name == "transition" else value
        return parameters

    def spread(self, counts: Float[Tensor, "B K"]) -> Float[Tensor, "B M"]:
        """Return for every element of the vector how many observations speak of it: those of its state, or all."""
        parts = []
        for entry in self.entries:
            if entry.name == "initial":
                parts.append(counts.sum(1, keepdim=True).expand(-1, self.num_states))
            else:
                shape = (len(counts), self.num_states, *[1] * (len(entry.shape) - 1))
                parts.append(counts.view(shape).expand(-1, *entry.shape).flatten(1))
        return torch.cat(parts, dim=1)


def inverse_softplus(y: Tensor) -> Tensor:
    """Return x with log(1 + eˣ) = y.

    >>> inverse_softplus(torch.nn.functional.softplus(torch.tensor([-3.0, 2.0])))
    tensor([-3.,  2.])
    """
    return y + torch.log(-torch.expm1(-y))


def _entry(name: str, shape: tuple[int, ...], kind: str, usual: Parameters) -> Entry:
    """Take place and size from usual parameters: reals by their spread over states, positive ones by their mean."""
    if kind == SIMPLEX:
        return Entry(name, shape, kind, torch.zeros((), dtype=torch.double), torch.ones((), dtype=torch.double))
    value = usual[name]
    if kind == POSITIVE:
        return Entry(name, shape, kind, torch.zeros((), dtype=torch.double), value.mean((0, 1)))
    return Entry(name, shape, kind, value.mean((0, 1)), value.std((0, 1), correction=0).clamp_min(1e-6))


def _unconstrained(entry: Entry, value: Tensor) -> Tensor:
    if entry.kind == REAL:
        return (value - entry.centre) / entry.scale
    raised = value / entry.scale if entry.kind == POSITIVE else value * entry.shape[-1]
    return inverse_softplus((raised - SMALLEST).clamp_min(SMALLEST))


def _constrained(entry: Entry, part: Tensor) -> Tensor:
    if entry.kind == REAL:
        return entry.centre + entry.scale * part
    raised = torch.nn.functional.softplus(part) + SMALLEST
    return entry.scale * raised if entry.kind == POSITIVE else raised / raised.sum(-1, keepdim=True)


def _with_diagonal(rows: Float[Tensor, "B K L"]) -> Float[Tensor, "B K K"]:
    """Return rows of K probabilities from K - 1: zero for the state itself."""
    num_states = rows.shape[1]
    full = rows.new_zeros(len(rows), num_states, num_states)
    full[:, ~torch.eye(num_states, dtype=torch.bool)] = rows.flatten(1)
    return full
