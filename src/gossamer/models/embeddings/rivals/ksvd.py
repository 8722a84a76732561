"""k-SVD: sparse hashing whose anchors and codes are improved in turn (Aharon, Elad & Bruckstein 2006)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.sparse import csc_array, csr_array, diags_array

from gossamer.core.randomness import RandomState
from gossamer.models.embeddings.rivals.matching_pursuit import match_rows
from gossamer.models.embeddings.rivals.sparse_hash import SparseHashEmbedding

SWEEPS = 10
POWER_STEPS = 3  # per atom and sweep; every step is an exact fit, so it need not converge


class KSvdEmbedding(SparseHashEmbedding):
    """Sparse hashing of a trained table, improved by k-SVD: the POST-SPARSE HASH + k-SVD rows of table 2.

    A sweep chooses every row's anchors anew by matching pursuit, where that is better than its present ones, and then
    updates each anchor together with the weights that use it by a rank-1 fit of what the others leave. The error never
    rises.
    """

    method: ClassVar[str] = "ksvd"

    def fit_rows(
        self, weight: Float[np.ndarray, "V D"], random_state: RandomState
    ) -> tuple[Float[np.ndarray, "K D"], csr_array]:
        """Return the anchors and codes of sparse hashing after `SWEEPS` sweeps."""
        anchors, codes = super().fit_rows(weight, random_state)
        for _ in range(SWEEPS):
            codes = better_codes(weight, anchors, codes, match_rows(weight, anchors, self.num_slots))
            anchors, codes = update_atoms(weight, anchors, codes)
        return anchors, codes


def better_codes(
    weight: Float[np.ndarray, "V D"], anchors: Float[np.ndarray, "K D"], present: csr_array, other: csr_array
) -> csr_array:
    """Return row by row whichever codes have the smaller error."""
    errors = [np.square(weight - codes @ anchors).sum(axis=1) for codes in (present, other)]
    takes_other = errors[1] < errors[0]
    return csr_array(diags_array(~takes_other * 1.0) @ present + diags_array(takes_other * 1.0) @ other)


def update_atoms(
    weight: Float[np.ndarray, "V D"], anchors: Float[np.ndarray, "K D"], codes: csr_array
) -> tuple[Float[np.ndarray, "K D"], csr_array]:
    """Return anchors and codes after each atom's rank-1 update, supports unchanged: ‖weight − T·A‖² never rises.

    With R the rows that use atom k, (a_k, t_Rk) becomes the leading singular pair of weight_R − Σ_{j≠k} t_Rj a_j, found
    by power steps from the present atom. An atom that no row uses becomes the row that is fitted worst.
    """
    anchors = anchors.astype(np.float32)
    by_atom = csc_array(codes)
    left = weight - codes @ anchors
    for atom in range(len(anchors)):
        entries = slice(by_atom.indptr[atom], by_atom.indptr[atom + 1])
        users = by_atom.indices[entries]
        if len(users) == 0:
            worst = left[np.square(left).sum(axis=1).argmax()]
            anchors[atom] = worst / max(float(np.linalg.norm(worst)), np.finfo(np.float32).tiny)
            continue
        target = left[users] + np.outer(by_atom.data[entries], anchors[atom])
        anchors[atom], by_atom.data[entries] = leading_pair(target, anchors[atom])
        left[users] = target - np.outer(by_atom.data[entries], anchors[atom])
    return anchors, csr_array(by_atom)


def leading_pair(
    target: Float[np.ndarray, "n D"], atom: Float[np.ndarray, " D"], steps: int = POWER_STEPS
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " n"]]:
    """Return a unit vector a and weights t of smaller ‖target − t aᵀ‖² than `atom` allows; many steps find the SVD."""
    for _ in range(steps):
        pulled = target.T @ (target @ atom)
        length = float(np.linalg.norm(pulled))
        if length == 0:  # nothing is left to explain in this direction
            break
        atom = pulled / length
    atom = atom / max(float(np.linalg.norm(atom)), np.finfo(np.float32).tiny)
    return atom, target @ atom
