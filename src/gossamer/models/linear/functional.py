"""Item-to-item weights as pure functions: Gram matrix, cosine neighbours, EASE and SLIM.

Every function takes X (N, M), users × items in CSR, and returns weights W (M, M): a user's scores are x @ W.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numba
import numpy as np
from jaxtyping import Float32, Int64
from scipy import sparse
from scipy.linalg import lapack

from gossamer.core.progress import track
from gossamer.core.topk import batch_rows, top_n
from gossamer.models.linear.compressed import compressed
from gossamer.models.linear.item_kernels import (
    gram_rows,
    invert_to_weights,
    score_dense,
    score_sparse,
    slim_rows,
)

logger = logging.getLogger(__name__)

DENSE_FROM = 0.2  # the share of item pairs with a common user from which SLIM also holds XᵀX as a plain matrix


def gram_blocks(matrix: sparse.csr_array, description: str) -> Iterator[tuple[int, Float32[np.ndarray, "R M"]]]:
    """Yield (first row, rows) of XᵀX in dense blocks of bounded size, the same buffer every time."""
    by_item = matrix.tocsc()
    num_items = matrix.shape[1]
    size = batch_rows(num_items)
    buffer = np.empty((min(size, num_items), num_items), dtype=np.float32)
    for first in track(range(0, num_items, size), description):
        block = buffer[: num_items - first]
        fill_gram(matrix, by_item, first, block)
        yield first, block


def dealt_out(num_rows: int) -> Int64[np.ndarray, " num_rows"]:
    """Return the rows in an order whose stretches, one per thread, each hold every num_threads-th row."""
    return np.argsort(np.arange(num_rows) % numba.get_num_threads(), kind="stable")


def fill_gram(
    by_user: sparse.csr_array,
    by_item: sparse.csc_array,
    first: int,
    block: Float32[np.ndarray, "R M"],
    *,
    until_diagonal: bool = False,
) -> None:
    """Fill `block` with rows first, first + 1 … of XᵀX; entries right of the diagonal stay 0 if so asked."""
    gram_rows(compressed(by_user), compressed(by_item), first, until_diagonal, dealt_out(len(block)), block)


def weight_by_idf(matrix: sparse.csr_array) -> sparse.csr_array:
    """Scale user u's row by log(M / n_u): agreeing with someone who took everything says little."""
    row_lengths = np.diff(matrix.indptr)
    idf = np.log(matrix.shape[1] / np.maximum(row_lengths, 1))
    values = matrix.data * np.repeat(idf, row_lengths)
    return sparse.csr_array((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def weight_by_bm25(matrix: sparse.csr_array, k1: float = 1.2, b: float = 0.75) -> sparse.csr_array:
    """Weight X as BM25 does, with items as documents and users as terms (Robertson and Walker 1994).

    x (k1 + 1) / (x + k1 (1 − b + b L_i / L̄)) · log(M / n_u), where L_i is the sum of item i's column.
    """
    lengths = np.asarray(matrix.sum(axis=0)).ravel()
    relative = lengths / max(float(lengths.mean()), np.finfo(np.float32).tiny)
    saturation = k1 * (1 - b + b * relative)
    values = matrix.data * (k1 + 1) / (matrix.data + saturation[matrix.indices])
    return weight_by_idf(
        sparse.csr_array((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
    )


def cosine_neighbours(matrix: sparse.csr_array, num_neighbours: int, shrinkage: float) -> sparse.csr_array:
    """Return the `num_neighbours` most similar items of every item, as rows of a sparse W.

    sim(i, j) = x_i·x_j / (‖x_i‖ ‖x_j‖ + shrinkage). Row i holds the neighbours that a history with i votes for.

    >>> x = sparse.csr_array(np.array([[1, 1, 0], [1, 1, 1]], dtype=np.float32))
    >>> cosine_neighbours(x, 1, 0.0).toarray().astype(float).round(2).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.71, 0.0, 0.0]]
    """
    norms = np.sqrt(np.bincount(matrix.indices, matrix.data.astype(np.float64) ** 2, matrix.shape[1]))
    rows = []
    for first, block in gram_blocks(matrix, "finding neighbours"):
        own = norms[first : first + len(block)]
        block /= np.maximum(own[:, None] * norms + shrinkage, np.finfo(np.float32).tiny).astype(np.float32)
        block[np.arange(len(block)), first + np.arange(len(block))] = -np.inf
        block[block == 0] = -np.inf  # items without a common user are no neighbours
        items, scores = top_n(block, min(num_neighbours, matrix.shape[1]))
        rows.append(_sparse_rows(items, scores, matrix.shape[1]))
    return sparse.csr_array(sparse.vstack(rows, format="csr"))


def _sparse_rows(items: np.ndarray, scores: np.ndarray, num_items: int) -> sparse.csr_array:
    """Return lists padded with -1 as rows with rising columns."""
    found = items >= 0
    indptr = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    rows = sparse.csr_array((scores[found], items[found], indptr), shape=(len(items), num_items))
    rows.sort_indices()
    return rows


def ease_weights(matrix: sparse.csr_array, regularization: float) -> Float32[np.ndarray, "M M"]:
    """Return EASE's B = I − P diag(P)⁻¹ with P = (XᵀX + λI)⁻¹ (Steck 2019): one closed form, zero diagonal.

    XᵀX is built in the buffer that becomes its Cholesky factor, P and B in turn: 4 M² bytes in all, M³ multiply-adds.

    >>> x = sparse.csr_array(np.array([[1, 1, 0], [1, 1, 1]], dtype=np.float32))
    >>> ease_weights(x, 1.0).astype(float).round(2).tolist()
    [[0.0, 0.6, 0.2], [0.6, 0.0, 0.2], [0.2, 0.2, 0.0]]
    """
    num_items = matrix.shape[1]
    by_item = matrix.tocsc()
    gram = np.zeros((num_items, num_items), dtype=np.float32)
    size = batch_rows(num_items)
    for first in track(range(0, num_items, size), "counting pairs of items"):
        fill_gram(matrix, by_item, first, gram[first : first + size], until_diagonal=True)
    gram[np.diag_indices(num_items)] += np.float32(regularization)
    # LAPACK counts by columns: the transposed view has its upper triangle where the rows above have their lower one.
    logger.info("inverting the Gram matrix of %d items", num_items)
    factor, fault = lapack.spotrf(gram.T, lower=0, clean=0, overwrite_a=1)
    if fault:
        raise ValueError(
            f"regularization must be large enough for single precision on these data, got {regularization}; "
            f"the Gram matrix is not positive definite at item {fault - 1}"
        )
    inverse, fault = lapack.spotri(factor, lower=0, overwrite_c=1)
    assert not fault  # a Cholesky factor has a positive diagonal
    weights: np.ndarray = inverse.T
    invert_to_weights(weights, weights.diagonal().copy())
    np.fill_diagonal(weights, 0)
    return weights


def slim_weights(
    matrix: sparse.csr_array,
    l1: float,
    l2: float,
    *,
    nonnegative: bool = True,
    max_sweeps: int = 100,
    tolerance: float = 1e-3,
) -> sparse.csr_array:
    """Return SLIM's sparse W (Ning and Karypis 2011), an elastic net for every item.

    min over w_j with w_jj = 0 of ½ ‖x_j − X w_j‖² + ½ l2 ‖w_j‖² + l1 ‖w_j‖₁, by coordinate descent on XᵀX, which is
    held sparse, and where it is nearly full also dense. `tolerance` bounds the last change of a fitted column, in units
    of ‖x_j‖.
    """
    gram = sparse.csr_array(
        sparse.vstack([sparse.csr_array(block) for _, block in gram_blocks(matrix, "counting pairs of items")])
    )
    num_items = matrix.shape[1]
    size = batch_rows(num_items)
    diagonal = gram.diagonal()
    # Where many items share users a plain matrix is hardly larger than a compressed one, and several times faster.
    is_full = gram.nnz >= DENSE_FROM * num_items**2
    dense_gram = gram.toarray() if is_full else np.empty((0, 0), dtype=np.float32)
    buffer = np.empty((min(size, num_items), num_items), dtype=np.float32)
    predicted = []
    for first in track(range(0, num_items, size), "fitting items"):
        block = buffer[: num_items - first]
        order = dealt_out(len(block))
        penalties = (l1, l2, nonnegative)
        slim_rows(compressed(gram), dense_gram, diagonal, first, penalties, max_sweeps, tolerance, order, block)
        predicted.append(sparse.csr_array(block))
    # Row j predicts item j; scores need x @ W, so items become columns.
    weights = sparse.csr_array(sparse.vstack(predicted).T.tocsr())
    weights.sort_indices()
    return weights


def score_items(
    history: sparse.csr_array, weights: Float32[np.ndarray, "M M"] | sparse.csr_array
) -> Float32[np.ndarray, "B M"]:
    """Return history @ weights as a dense block, for dense or sparse weights."""
    scores = np.empty(history.shape, dtype=np.float32)
    if isinstance(weights, np.ndarray):
        score_dense(compressed(history), weights, scores)
    else:
        score_sparse(compressed(history), compressed(weights), scores)
    return scores
