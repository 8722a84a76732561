"""From many dimensions to a map: principal components, and two layouts that keep neighbours together."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from gossamer.core.checks import check_choice, check_int
from gossamer.core.topk import batch_rows
from gossamer.serving.explorer.layout_kernels import settle

PROJECTIONS = ("pca", "neighbours", "tsne")
NUM_NEIGHBOURS = 10
EPOCHS = 80
PERPLEXITY = 30.0
MOST_COLUMNS = 64  # beyond these, vectors are sketched first


def principal_plane(vectors: np.ndarray) -> np.ndarray:
    """Return the first two principal components of rows (V, D) → (V, 2); columns that do not exist are zeros.

    >>> principal_plane(np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]])).round(3).tolist()
    [[-1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]]
    """
    return principal_components(vectors, 2)


def principal_components(vectors: np.ndarray, count: int) -> np.ndarray:
    """Return the first principal components of rows (V, D) → (V, count); columns that do not exist are zeros.

    The sign of a component is a convention of LAPACK: here the farthest row lies on the positive side.
    """
    centred = np.asarray(vectors, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    if min(centred.shape) == 0:
        return np.zeros((len(centred), count), dtype=np.float32)
    if len(centred) < centred.shape[1]:  # few groups over many names: the small Gram matrix has the same components
        values, left = np.linalg.eigh(centred @ centred.T)
        found = (left * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :count]
    else:
        _, directions = np.linalg.eigh(centred.T @ centred)
        found = centred @ directions[:, ::-1][:, :count]
    flat = np.zeros((len(centred), count))
    flat[:, : found.shape[1]] = found
    flat[:, np.abs(flat).max(axis=0) < 1e-9] = 0  # a component that is not there
    farthest = flat[np.abs(flat).argmax(axis=0), np.arange(count)]
    return (flat * np.where(farthest < 0, -1, 1)).astype(np.float32)


def variance_shares(vectors: np.ndarray, components: np.ndarray) -> list[float]:
    """Return which share of all variance of rows (V, D) each column of their principal components has.

    >>> vectors = np.array([[4.0, 0.0], [-4.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    >>> variance_shares(vectors, principal_plane(vectors))
    [0.8, 0.2]
    """
    total = float(np.asarray(vectors).var(axis=0, dtype=np.float64).sum())
    if total <= 0:
        return [0.0] * components.shape[1]
    return [round(float(share), 6) for share in components.var(axis=0, dtype=np.float64) / total]


def sketch(matrix: np.ndarray | sparse.csr_array, width: int = MOST_COLUMNS) -> np.ndarray:
    """Return rows (V, width) whose products are about those of the rows of a wide matrix."""
    width = min(width, *matrix.shape)
    left, values, _ = randomized_svd(matrix, width, n_iter=2, random_state=0)
    return np.asarray(left * values, dtype=np.float32)


def nearest_rows(vectors: np.ndarray, n: int) -> np.ndarray:
    """Return the n rows (V, n) that are nearest to each by cosine, in no order, without itself.

    In NumPy, because compiled loops in parallel take one caller at a time, and a map takes seconds.
    """
    unit = unit_rows(vectors)
    found = np.empty((len(unit), n), dtype=np.int32)
    size = batch_rows(len(unit), 16 << 20)
    for begin in range(0, len(unit), size):
        block = unit[begin : begin + size]
        closeness = block @ unit.T
        closeness[np.arange(len(block)), begin + np.arange(len(block))] = -np.inf
        found[begin : begin + size] = np.argpartition(closeness, -n, axis=1)[:, -n:]
    return found


def neighbour_layout(
    vectors: np.ndarray, num_axes: int = 2, num_neighbours: int = NUM_NEIGHBOURS, epochs: int = EPOCHS
) -> np.ndarray:
    """Return places (V, num_axes) where rows near each other by cosine are close, begun from principal components.

    Neighbours attract and random others repel, in the manner of LargeVis and UMAP; near means something, far little.
    """
    start = principal_components(unit_rows(vectors), num_axes)
    if len(start) < 3:
        return start
    spread = np.maximum(start.std(axis=0), 1e-6)
    generator = np.random.default_rng(0)
    places = (start / spread + 0.01 * generator.standard_normal(start.shape)).astype(np.float32) * 4
    neighbours = nearest_rows(vectors, min(num_neighbours, len(start) - 1))
    settle(places, neighbours, epochs, 1)
    centred: np.ndarray = places - places.mean(axis=0)
    return centred


def tsne_layout(vectors: np.ndarray, num_axes: int = 2) -> np.ndarray:
    """Return places (V, num_axes) by t-SNE (van der Maaten and Hinton 2008) of directions, scikit-learn's.

    Begun from principal components, so that a map is always the same and its large shape means something.
    """
    from sklearn.manifold import TSNE  # late: it takes a second to import, and few ask for it

    unit = unit_rows(vectors)
    start = principal_components(unit, num_axes)
    if len(start) < 4:
        return start
    start = 1e-4 * start / max(float(start[:, 0].std()), 1e-12)
    perplexity = min(PERPLEXITY, (len(start) - 1) / 3)
    layout = TSNE(num_axes, perplexity=perplexity, init=start.astype(np.float32), random_state=0)
    return np.asarray(layout.fit_transform(unit), dtype=np.float32)


def project(vectors: np.ndarray, projection: str, num_axes: int = 2) -> np.ndarray:
    """Return the map (V, num_axes) of a projection by its name; lengths count in "pca", in others directions alone."""
    check_choice("projection", projection, PROJECTIONS)
    check_int("num_axes", num_axes, at_least=1)
    narrow = vectors if vectors.shape[1] <= MOST_COLUMNS else sketch(vectors)
    if projection == "pca":
        return principal_components(narrow, num_axes)
    return neighbour_layout(narrow, num_axes) if projection == "neighbours" else tsne_layout(narrow, num_axes)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Return rows of length one as float32, zeros where a row is zero."""
    wide = np.asarray(vectors, dtype=np.float32)
    unit: np.ndarray = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), np.float32(1e-12))
    return unit
