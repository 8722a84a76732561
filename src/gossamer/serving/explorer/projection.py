"""From many dimensions to a map: principal components, and a layout that keeps neighbours together."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from gossamer.core.checks import check_choice
from gossamer.core.topk import batch_rows
from gossamer.serving.explorer.layout_kernels import settle

PROJECTIONS = ("pca", "neighbours")
NUM_NEIGHBOURS = 10
EPOCHS = 80
MOST_COLUMNS = 64  # beyond these, vectors are sketched first


def principal_plane(vectors: np.ndarray) -> np.ndarray:
    """Return the first two principal components of rows (V, D) → (V, 2); columns that do not exist are zeros.

    The sign of a component is a convention of LAPACK: the farthest row lies on the positive side.

    >>> principal_plane(np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]])).round(3).tolist()
    [[-1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]]
    """
    centred = np.asarray(vectors, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    if min(centred.shape) == 0:
        return np.zeros((len(centred), 2), dtype=np.float32)
    if len(centred) < centred.shape[1]:  # few groups over many names: the small Gram matrix has the same components
        values, left = np.linalg.eigh(centred @ centred.T)
        found = (left * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :2]
    else:
        _, directions = np.linalg.eigh(centred.T @ centred)
        found = centred @ directions[:, ::-1][:, :2]
    flat = np.zeros((len(centred), 2))
    flat[:, : found.shape[1]] = found
    flat[:, np.abs(flat).max(axis=0) < 1e-9] = 0  # a component that is not there
    farthest = flat[np.abs(flat).argmax(axis=0), [0, 1]]
    return (flat * np.where(farthest < 0, -1, 1)).astype(np.float32)


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


def neighbour_layout(vectors: np.ndarray, num_neighbours: int = NUM_NEIGHBOURS, epochs: int = EPOCHS) -> np.ndarray:
    """Return places (V, 2) where rows that are near each other by cosine are close, begun from the principal plane.

    Neighbours attract and random others repel, in the manner of LargeVis and UMAP; near means something, far little.
    """
    start = principal_plane(unit_rows(vectors))
    if len(start) < 3:
        return start
    spread = np.maximum(start.std(axis=0), 1e-6)
    generator = np.random.default_rng(0)
    places = (start / spread + 0.01 * generator.standard_normal(start.shape)).astype(np.float32) * 4
    neighbours = nearest_rows(vectors, min(num_neighbours, len(start) - 1))
    settle(places, neighbours, epochs, 1)
    centred: np.ndarray = places - places.mean(axis=0)
    return centred


def project(vectors: np.ndarray, projection: str) -> np.ndarray:
    """Return the map (V, 2) of a projection by its name; lengths count in "pca", directions alone in "neighbours"."""
    check_choice("projection", projection, PROJECTIONS)
    narrow = vectors if vectors.shape[1] <= MOST_COLUMNS else sketch(vectors)
    return principal_plane(narrow) if projection == "pca" else neighbour_layout(narrow)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Return rows of length one as float32, zeros where a row is zero."""
    wide = np.asarray(vectors, dtype=np.float32)
    unit: np.ndarray = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), np.float32(1e-12))
    return unit
