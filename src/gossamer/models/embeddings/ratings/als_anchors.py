"""The anchors of least squared error for given sparse codes, by conjugate gradients over all anchors at once."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32
from scipy import sparse


def solve_anchors(
    anchors: Float32[np.ndarray, "K D"],
    transform: sparse.csr_array,
    grams: Float32[np.ndarray, "V D D"],
    rights: Float[np.ndarray, "V D"],
    *,
    steps: int = 15,
) -> Float32[np.ndarray, "K D"]:
    """Return anchors A that lower Σ_v (e_vᵀ G_v e_v − 2 c_vᵀ e_v) with e = T A, from where they stand.

    The normal equations Σ_v t_v t_vᵀ ⊗ G_v have K·D unknowns and are never formed: their product with a direction P is
    Tᵀ[G_v (T P)_v]. The preconditioner is each anchor's own D × D block, so anchors that never meet in a row are solved
    in one step; the error falls with every step, and `steps` ≥ K·D steps would be exact.
    """
    codes, backwards = transform.astype(np.float64), transform.T.tocsr().astype(np.float64)

    def product(direction: np.ndarray) -> np.ndarray:
        moved = np.matmul(grams, (codes @ direction)[:, :, None].astype(np.float32))[:, :, 0]
        result: np.ndarray = backwards @ moved.astype(np.float64)
        return result

    inverse_blocks = _inverse_blocks(backwards, grams)
    solution = anchors.astype(np.float64)
    residual = backwards @ rights.astype(np.float64) - product(solution)
    scaled = np.matmul(inverse_blocks, residual[:, :, None])[:, :, 0]
    direction, energy = scaled.copy(), float(np.sum(residual * scaled))
    enough = 1e-10 * energy
    for _ in range(steps):
        if energy <= enough:
            break
        moved = product(direction)
        length = energy / float(np.sum(direction * moved))
        solution += length * direction
        residual -= length * moved
        scaled = np.matmul(inverse_blocks, residual[:, :, None])[:, :, 0]
        previous, energy = energy, float(np.sum(residual * scaled))
        direction = scaled + energy / previous * direction
    return solution.astype(np.float32)


def _inverse_blocks(backwards: sparse.csr_array, grams: np.ndarray) -> np.ndarray:
    """Return (Σ_v t_vk² G_v)⁻¹ for every anchor k; an anchor that no row uses has the identity, and does not move."""
    squared = sparse.csr_array((backwards.data**2, backwards.indices, backwards.indptr), shape=backwards.shape)
    width = grams.shape[1]
    blocks = (squared @ grams.reshape(len(grams), -1)).reshape(-1, width, width)
    size = np.trace(blocks, axis1=1, axis2=2) / width
    blocks += np.where(size > 0, 1e-6 * size, 1.0)[:, None, None] * np.eye(width)
    inverse: np.ndarray = np.linalg.inv(blocks)
    return inverse
