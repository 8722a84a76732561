"""How sure fitted parameters are: standard errors from the observed information.

The information is minus the Hessian of the log-likelihood. By Fisher's identity its gradient is made of the expected
counts of the E-step, which are differentiable themselves, so each row of the Hessian is one more backward pass, exact.
Coordinates are taken so that every step in them is a legal parameter: probabilities p ∝ p₀ eˣ, positive numbers v₀ eˣ,
covariances Σ₀ + L₀ X L₀ᵀ; the delta method goes back to the parameters' own units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.core.progress import progress_bar
from gossamer.models.markov.chains import Chain
from gossamer.models.markov.emissions.family import Emission, Observed, Parameters
from gossamer.models.markov.ragged import sequence_numbers
from gossamer.models.markov.step import emission_part

MOST_COORDINATES = 3000  # their square is kept, and each is a pass over the data
NOTHING = 1e-9  # of the largest information: a direction with less is one that the data do not speak of
LOADED = 1e-6  # share of a parameter's own variation along such directions from which on it is unknown


class Coordinates(NamedTuple):
    """Where each parameter begins in a vector of local coordinates, all zero at the fitted parameters."""

    parameters: Parameters
    sizes: dict[str, int]

    @property
    def size(self) -> int:
        """The number of coordinates of one owner."""
        return sum(self.sizes.values())

    def place(self, vector: Float[Tensor, "P M"]) -> Parameters:
        """Return the parameters at a point near the fitted ones; differentiable."""
        parts = torch.split(vector, list(self.sizes.values()), dim=1)
        return {name: _moved(name, self.parameters[name], part) for name, part in zip(self.sizes, parts, strict=True)}

    def idle(self) -> Float[Tensor, "P M M"]:
        """Return a projector on directions that change nothing: a common factor of probabilities, and those of 0."""
        blocks = [_idle(name, self.parameters[name], size) for name, size in self.sizes.items()]
        return torch.stack([_block_diagonal([block[owner] for block in blocks]) for owner in range(len(blocks[0]))])


def coordinates_of(parameters: Parameters) -> Coordinates:
    """Return coordinates around fitted parameters, or say that they are too many."""
    sizes = {}
    for name, value in parameters.items():
        dim = value.shape[-1]
        whole = int(np.prod(value.shape[1:]))
        sizes[name] = whole // (dim * dim) * (dim * (dim + 1) // 2) if _kind(name) == "covariance" else whole
    found = Coordinates(parameters, sizes)
    if found.size > MOST_COORDINATES:
        raise ValueError(
            f"standard errors must be of at most {MOST_COORDINATES:,} parameters, got {found.size:,}; "
            "fit a model with fewer states or categories"
        )
    return found


def standard_errors(
    chain: Chain, emission: Emission, parameters: Parameters, observed: Observed, offsets: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the standard error of every parameter, in its shape; NaN where the data do not say anything of it."""
    coordinates = coordinates_of(parameters)
    with torch.enable_grad():
        information = observed_information(chain, emission, coordinates, observed, offsets)
        jacobians = _jacobians(coordinates)
    # Idle directions have no information and move no parameter: any weight makes them harmless.
    largest = information.diagonal(dim1=1, dim2=2).amax(1).clamp_min(1e-300)
    values, axes = torch.linalg.eigh(information + largest[:, None, None] * coordinates.idle())
    is_unknown = values < NOTHING * largest[:, None]
    spread = torch.where(is_unknown, 0.0, 1 / torch.where(is_unknown, 1.0, values).sqrt())
    errors = {}
    for name, jacobian in jacobians.items():
        along = jacobian @ axes
        total, unknown = along.square().sum(2), (along.square() * is_unknown[:, None]).sum(2)
        found = (along * spread[:, None]).square().sum(2).sqrt()
        found = torch.where(unknown > LOADED * total, torch.nan, found)
        errors[name] = found.view(parameters[name].shape).numpy()
    return errors


def observed_information(
    chain: Chain, emission: Emission, coordinates: Coordinates, observed: Observed, offsets: np.ndarray
) -> Float[Tensor, "P M M"]:
    """Return minus the Hessian of the log-likelihood for every owner's coordinates, at the fitted parameters."""
    num_owners = len(coordinates.parameters["initial"])
    vector = torch.zeros(num_owners, coordinates.size, dtype=torch.double, requires_grad=True)
    parameters = coordinates.place(vector)
    series = None if num_owners == 1 else sequence_numbers(offsets)
    log_emissions = emission.log_density(observed, emission_part(parameters), series)
    expected = chain.expect(parameters, log_emissions, offsets)
    logs = [*chain.logs(parameters), log_emissions]
    counts = [*expected.counts.values(), expected.states]
    # The counts are the gradient by the logs; they stay in the graph, because they depend on the parameters, too.
    (score,) = torch.autograd.grad(logs, vector, counts, create_graph=True)
    rows = []
    with progress_bar() as bar:
        task = bar.add_task("standard errors", total=coordinates.size, note="")
        for column in score.sum(0):  # owners do not touch each other: one pass serves all
            rows.append(torch.autograd.grad(column, vector, retain_graph=True)[0])
            bar.update(task, advance=1)
    information = -torch.stack(rows, dim=1)
    return (information + information.mT) / 2


def _kind(name: str) -> str:
    if name == "emission.means":
        return "real"
    if name == "emission.covariances":
        return "covariance"
    return "simplex" if name in ("initial", "transition") or name.endswith(".probs") else "positive"


def _moved(name: str, value: Tensor, part: Float[Tensor, "P m"]) -> Tensor:
    kind = _kind(name)
    if kind == "covariance":
        rows, columns = torch.tril_indices(value.shape[-1], value.shape[-1])
        lower = part.new_zeros(value.shape)
        lower[..., rows, columns] = part.view(*value.shape[:-2], -1)
        factor = torch.linalg.cholesky(value)
        moved: Tensor = value + factor @ (lower + lower.mT) @ factor.mT / 2
        return moved
    shaped = part.view(value.shape)
    if kind == "real":
        return value + shaped
    if kind == "positive":
        return value * shaped.exp()
    raised = value * shaped.exp()
    return raised / raised.sum(-1, keepdim=True)


def _idle(name: str, value: Tensor, size: int) -> Float[Tensor, "P m m"]:
    if _kind(name) != "simplex":
        return value.new_zeros(len(value), size, size)
    is_used = (value > 0).to(value).reshape(len(value), -1, value.shape[-1])
    shares = is_used / is_used.sum(-1, keepdim=True).clamp_min(1).sqrt()
    blocks = shares.unsqueeze(-1) * shares.unsqueeze(-2) + torch.diag_embed(1 - is_used)
    return torch.stack([_block_diagonal(rows) for rows in blocks])


def _block_diagonal(blocks: Iterable[Tensor]) -> Tensor:
    whole: Tensor = torch.block_diag(*blocks)  # type: ignore[no-untyped-call]
    return whole


def _jacobians(coordinates: Coordinates) -> Mapping[str, Float[Tensor, "P m M"]]:
    """Return how each parameter, flattened, moves with the coordinates of its owner."""
    num_owners = len(coordinates.parameters["initial"])
    vector = torch.zeros(num_owners, coordinates.size, dtype=torch.double)

    def flat(point: Tensor) -> Tensor:
        return torch.cat([value.flatten(1) for value in coordinates.place(point).values()], dim=1).sum(0)

    jacobian = torch.autograd.functional.jacobian(flat, vector).transpose(0, 1)  # type: ignore[no-untyped-call]
    sizes = [value[0].numel() for value in coordinates.parameters.values()]
    return dict(zip(coordinates.parameters, torch.split(jacobian, sizes, dim=1), strict=True))
