"""Post-processing by sparse hashing: every row is fitted by the anchors nearest to it (appendix I.2)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array

from gossamer.core.randomness import RandomState
from gossamer.models.embeddings.rivals.clusters import kmeans
from gossamer.models.embeddings.rivals.coded import CodedEmbedding
from gossamer.models.embeddings.rivals.matching_pursuit import ROWS_TO_SOLVE, fit_on_support
from gossamer.models.embeddings.sparse_rows import csr_of


class SparseHashEmbedding(CodedEmbedding):
    """`num_anchors` centres of a trained table, and each row as a least-squares mix of the `num_slots` nearest to it.

    The POST-SPARSE HASH rows of the paper's table 2, with K·d + V·k numbers. Which anchors a row uses depends on
    distance alone, not on how well they combine; `KSvdEmbedding` begins here and improves both.

    Reference: Guo et al., "Learning to hash with optimized anchor embedding for scalable retrieval", IEEE TIP 2017.
    """

    method: ClassVar[str] = "sparse-hash"

    def fit_rows(
        self, weight: Float[np.ndarray, "V D"], random_state: RandomState
    ) -> tuple[Float[np.ndarray, "K D"], csr_array]:
        """Return k-means centres and the codes of all rows."""
        anchors = kmeans(weight, self.num_anchors, random_state=random_state)
        return anchors, match_nearest(weight, anchors, self.num_slots)


def match_nearest(weight: Float[np.ndarray, "V D"], anchors: Float[np.ndarray, "K D"], num_slots: int) -> csr_array:
    """Return codes (V, K): least-squares weights on the `num_slots` anchors nearest to each row.

    >>> match_nearest(np.array([[1.0, 3.0]]), np.array([[0.0, 2.0], [9.0, 9.0]]), 1).toarray().round(1)
    array([[1.5, 0. ]])
    """
    gram = anchors @ anchors.T
    columns, values = [], []
    for start in range(0, len(weight), ROWS_TO_SOLVE):
        products = weight[start : start + ROWS_TO_SOLVE] @ anchors.T
        nearest = np.argpartition(np.diag(gram) - 2 * products, num_slots - 1, axis=1)[:, :num_slots]
        columns.append(nearest)
        values.append(fit_on_support(gram, products, nearest))
    return csr_of(np.concatenate(columns), np.concatenate(values), len(anchors))
