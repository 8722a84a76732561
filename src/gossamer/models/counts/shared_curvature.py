"""How much one word tells about z on average: the curvature that all documents share, once per state of a decoder."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.models.counts.hidden_trace import HiddenTrace, trace_hidden
from gossamer.models.counts.module import Decoder

LINEAR_DRAWS, HIDDEN_DRAWS = 64, 4  # pairs ±z; with hidden layers, a draw costs as much as K rows of logits


@dataclass(frozen=True, eq=False)
class SharedCurvature:
    """M = E_z[Jᵀ Wᵀ(diag p − p pᵀ) W J] = Q diag(λ) Qᵀ, the Fisher information of one word about z under the prior.

    A document of N words has about the precision I + N M. `centre` is E_z[Wᵀp]; `sensitivities` are E_z[(∂a/∂z)²] of
    what enters the activations of each hidden layer.
    """

    eigenvalues: Float[Tensor, " K"]
    eigenvectors: Float[Tensor, "K K"]
    diagonal: Float[Tensor, " K"]
    centre: Float[Tensor, " H"]
    sensitivities: tuple[Float[Tensor, "K after"], ...]

    def precondition(self, gradient: Float[Tensor, "B K"], lengths: Float[Tensor, "B 1"]) -> Float[Tensor, "B K"]:
        """Return (I + N M)⁻¹ g of each document."""
        rotated = (gradient @ self.eigenvectors) / (1 + lengths * self.eigenvalues)
        return rotated @ self.eigenvectors.T

    def variance(self, lengths: Float[Tensor, "B 1"]) -> Float[Tensor, "B K"]:
        """Return 1 / (1 + N diag M), the posterior variances of an average document of so many words."""
        return 1 / (1 + lengths * self.diagonal)


State = tuple[tuple[int, int, float, float], ...]
_known: WeakKeyDictionary[Decoder, tuple[State, SharedCurvature]] = WeakKeyDictionary()


def shared_curvature(decoder: Decoder) -> SharedCurvature:
    """Return the curvature of a decoder, computed once as long as its parameters stay as they are."""
    state = _state_of(decoder)
    known = _known.get(decoder)
    if known is None or known[0] != state:
        known = _known[decoder] = (state, compute_curvature(decoder))
    return known[1]


@torch.no_grad()
def _state_of(decoder: Decoder) -> State:
    """Return what tells two states of a decoder apart: torch's fused Adam does not count its changes in `_version`."""
    return tuple(
        (part.data_ptr(), part._version, float(part.sum()), float(torch.linalg.vector_norm(part)))
        for part in decoder.parameters()
    )


@torch.no_grad()
def compute_curvature(decoder: Decoder) -> SharedCurvature:
    """Average the curvature over draws from the prior, always the same ones: a decoder has one M."""
    weight = decoder.weight.detach()
    draws = _prior_draws(HIDDEN_DRAWS if len(decoder.layers) else LINEAR_DRAWS, decoder)
    traced = trace_hidden(decoder, draws)
    probs = torch.softmax(torch.addmm(decoder.bias.detach(), traced.hidden, weight.T), dim=1)
    means = probs @ weight  # Wᵀp of each draw
    centre = means.mean(dim=0)
    if len(decoder.layers):
        matrix, sensitivities = _with_jacobians(traced, weight, probs, means)
    else:
        # About the common centre, less is lost to rounding.
        centred, off_centre = weight - centre, means - centre
        matrix = centred.T @ (centred * probs.mean(dim=0).unsqueeze(1)) - off_centre.T @ off_centre / len(draws)
        sensitivities = ()
    matrix = (matrix + matrix.T) / 2
    eigenvalues, eigenvectors = torch.linalg.eigh(matrix)
    diagonal = matrix.diagonal().clamp(min=0)
    return SharedCurvature(eigenvalues.clamp(min=0), eigenvectors, diagonal, centre, sensitivities)


def _with_jacobians(
    traced: HiddenTrace, weight: Float[Tensor, "V H"], probs: Float[Tensor, "draws V"], means: Float[Tensor, "draws H"]
) -> tuple[Float[Tensor, "K K"], tuple[Float[Tensor, "K after"], ...]]:
    """Return M and the sensitivities of all hidden layers.

    p and J must be of the same draw: words that are likely where J is steep count more.
    """
    num_latent = traced.weights[0].shape[1]
    ahead = torch.eye(num_latent, dtype=weight.dtype, device=weight.device).unsqueeze(1)  # ∂z/∂z, for all draws
    sensitivities = []
    for layer_weight, slope in zip(traced.weights, traced.slopes, strict=True):
        entering = ahead @ layer_weight.T  # (K, draws, after)
        sensitivities.append(entering.square().mean(dim=1))
        ahead = entering * slope
    matrix = weight.new_zeros(num_latent, num_latent)
    for draw in range(len(probs)):
        along = (weight - means[draw]) @ ahead[:, draw].T  # (V, K), of mean 0 under p
        matrix += along.T @ (along * probs[draw].unsqueeze(1)) / len(probs)
    return matrix, tuple(sensitivities)


def _prior_draws(num_pairs: int, decoder: Decoder) -> Float[Tensor, "draws K"]:
    generator = torch.Generator().manual_seed(0)
    half = torch.randn(num_pairs, decoder.latent_dim, generator=generator)
    return torch.cat([half, -half]).to(decoder.bias)
