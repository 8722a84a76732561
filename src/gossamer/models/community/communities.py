"""Communities: how near a user is to each, what of the user lies in their space, and what does not (3.9–3.13)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

TINY = 1e-12


def community_basis(space: Float[Tensor, "*batch K D"]) -> Float[Tensor, "*batch D K"]:
    """Return orthonormal columns that span the communities, by QR.

    The SVD of the paper spans the same space, but its gradient divides by differences of singular values, which are all
    equal at the orthonormal start: NaN. That of QR divides by the diagonal of R only.
    """
    basis, triangle = torch.linalg.qr(space.transpose(-2, -1))
    # The sign of a column is a convention of LAPACK; fixed, equal spaces have equal bases.
    signs = torch.where(torch.diagonal(triangle, dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(space.dtype)
    fixed: Tensor = basis * signs.unsqueeze(-2)
    return fixed


def project(full: Float[Tensor, "*batch D"], basis: Float[Tensor, "D K"]) -> Float[Tensor, "*batch D"]:
    """Return the part of each embedding that lies in the communities' space, Σ_l ⟨e, ζ_l⟩ ζ_l (3.11, 3.13)."""
    return (full @ basis) @ basis.transpose(-2, -1)


def community_weights(
    distances: Float[Tensor, "*batch K"], temperature: float | Tensor = 1.0
) -> Float[Tensor, "*batch K"]:
    """Return soft memberships: the softmax of closeness over a temperature (3.9 and the text after 3.10).

    >>> community_weights(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return torch.softmax(distances / temperature, dim=-1)


def mix_communities(weights: Float[Tensor, "*batch K"], space: Float[Tensor, "K D"]) -> Float[Tensor, "*batch D"]:
    """Return the user-community embedding Σ_l w_l e_l (3.10)."""
    return weights @ space


def entropy(probs: Float[Tensor, "*batch K"]) -> Float[Tensor, "*batch"]:
    """Return −Σ p log p, 0 · log 0 = 0, with a finite gradient at 0."""
    return -(probs * torch.log(probs.clamp(min=TINY))).sum(dim=-1)


def effective_number(probs: Float[Tensor, "*batch K"]) -> Float[Tensor, "*batch"]:
    """Return exp of the entropy: how many equally large communities would be as spread out.

    >>> effective_number(torch.tensor([0.5, 0.5, 0.0]))
    tensor(2.)
    """
    return torch.exp(entropy(probs))


def formation_penalty(weights: Float[Tensor, "B K"]) -> Float[Tensor, ""]:
    """Return mean entropy of users minus entropy of the mean: −(information that a user gives on a community).

    It is least, −log K, when every user belongs to one community and all communities are equally large.
    """
    return entropy(weights).mean() - entropy(weights.mean(dim=0))


def grouping_penalty(weights: Float[Tensor, "B K"], groups: Float[Tensor, "B K"]) -> Float[Tensor, ""]:
    """Return the mean over users of entropy and KL(groups ‖ weights): 0 where each is of one group and stays there.

    The first keeps users from belonging everywhere, as in `formation_penalty`; the second keeps communities in use, at
    the sizes of groups that were found before, where the entropy of the mean would have them equal.
    """
    cross = -(groups * torch.log(weights.clamp(min=TINY))).sum(dim=-1)
    return (entropy(weights) + cross - entropy(groups)).mean()


def orthonormal_start(num_communities: int, width: int, generator: torch.Generator) -> Float[Tensor, "K D"]:
    """Return K orthonormal rows of width D drawn uniformly."""
    drawn = torch.randn(width, num_communities, generator=generator)
    return community_basis(drawn.T).T.contiguous()
