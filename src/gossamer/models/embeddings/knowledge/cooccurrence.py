"""Which objects occur together: sparse counts from sentences or interactions, PPMI, and features made of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from jaxtyping import Float32
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.data import Interactions, Sentences

WINDOW = 10  # the paper's context size (appendix G)
PAIRS_AT_ONCE = 1 << 22  # bounds the temporary memory; what remains is the number of different pairs


def count_words_together(sentences: Sentences, *, window: int = WINDOW, min_count: int = 1) -> sparse.csr_array:
    """Return how often two words stand at most `window` places apart in a sentence, symmetric (V, V), zero diagonal.

    >>> from gossamer.data.text import build_sentences
    >>> count_words_together(build_sentences(["a b c", "b a"], unknown=None), window=1).toarray().tolist()
    [[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    check_int("window", window, at_least=1)
    check_int("min_count", min_count, at_least=1)
    size = len(sentences.vocabulary)
    total = sparse.csr_array((size, size), dtype=np.float32)
    # A block of whole sentences has at most tokens · window pairs.
    blocks = np.searchsorted(
        sentences.offsets, np.arange(0, len(sentences.tokens), max(1, PAIRS_AT_ONCE // window)), side="right"
    )
    edges = np.unique([0, *(blocks - 1), len(sentences)])
    for first, last in pairwise(edges.tolist()):
        total = total + _pairs_of_block(sentences, first, last, window, size)
    return _at_least(total + total.T, min_count)


def count_items_together(interactions: Interactions, *, min_count: int = 1) -> sparse.csr_array:
    """Return how many users have both items, symmetric (M, M) with zero diagonal.

    A pair with fewer than `min_count` users is dropped before the next block of rows is made, so memory is bounded
    by the pairs that stay.
    """
    check_int("min_count", min_count, at_least=1)
    by_user = interactions.matrix()
    by_item = by_user.T.tocsr()
    # Row i of the product has at most as many entries as the users of i have items.
    work = np.cumsum(by_item @ interactions.user_counts.astype(np.float64))
    edges = np.searchsorted(work, np.arange(PAIRS_AT_ONCE, work[-1] if len(work) else 0, PAIRS_AT_ONCE))
    edges = np.unique([0, *edges, interactions.num_items])
    blocks = []
    for first, last in pairwise(edges.tolist()):
        block = (by_item[first:last] @ by_user).tocoo()
        keep = (block.data >= min_count) & (block.row + first != block.col)
        blocks.append(sparse.csr_array((block.data[keep], (block.row[keep], block.col[keep])), shape=block.shape))
    return sparse.vstack(blocks, format="csr")


def positive_pmi(counts: sparse.csr_array) -> sparse.csr_array:
    """Return max(0, log p(i, j) / (p(i) p(j))) of symmetric co-occurrence counts; only positive entries are stored."""
    entries = counts.tocoo()
    totals = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    expected = totals[entries.row] * totals[entries.col] / max(totals.sum(), 1.0)
    information = np.log(np.maximum(entries.data, np.finfo(np.float32).tiny) / np.maximum(expected, 1e-30))
    keep = (information > 0) & (entries.data > 0)
    return sparse.csr_array(
        (information[keep].astype(np.float32), (entries.row[keep], entries.col[keep])), shape=counts.shape
    )


def ppmi_features(
    counts: sparse.csr_array, feature_dim: int, *, random_state: RandomState = 0
) -> Float32[np.ndarray, "V F"]:
    """Return U·√Σ of a truncated randomised SVD of the positive PMI: objects in like company have like rows."""
    check_int("feature_dim", feature_dim, at_least=1, at_most=counts.shape[0])
    seed = int(numpy_generator(random_state).integers(2**31))
    left, strength, _ = randomized_svd(positive_pmi(counts), feature_dim, n_iter=4, random_state=seed)
    features: np.ndarray = (left * np.sqrt(strength)).astype(np.float32)
    return features


def _pairs_of_block(sentences: Sentences, first: int, last: int, window: int, size: int) -> sparse.csr_array:
    """Return each pair once, in the order of the text; the caller adds the transpose."""
    start, stop = int(sentences.offsets[first]), int(sentences.offsets[last])
    tokens = sentences.tokens[start:stop]
    rows = np.repeat(np.arange(last - first), sentences.lengths[first:last])
    left, right = [], []
    for distance in range(1, min(window, len(tokens) - 1) + 1):
        together = (rows[distance:] == rows[:-distance]) & (tokens[distance:] != tokens[:-distance])
        left.append(tokens[:-distance][together])
        right.append(tokens[distance:][together])
    if not left:
        return sparse.csr_array((size, size), dtype=np.float32)
    where = (np.concatenate(left), np.concatenate(right))
    return sparse.csr_array((np.ones(len(where[0]), dtype=np.float32), where), shape=(size, size))


def _at_least(counts: sparse.csr_array, min_count: int) -> sparse.csr_array:
    kept = counts.tocsr()
    kept.sum_duplicates()
    kept.data[kept.data < min_count] = 0
    kept.eliminate_zeros()
    return kept
