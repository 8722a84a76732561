"""Where training starts: anchors chosen by a strategy of section 3.1, and a T that fits them."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int64
from scipy import sparse

from gossamer.core.checks import check_choice
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.anchor_size import without_row
from gossamer.models.embeddings.knowledge.anchors_select import STRATEGIES, Features, random_basis, select_anchors
from gossamer.models.embeddings.slots import slots_from_csr
from gossamer.models.embeddings.sparse_rows import code_rows
from gossamer.models.embeddings.table import ROWS_AT_ONCE


def initialise_anchors(
    table: AnchorEmbedding,
    strategy: str,
    *,
    counts: np.ndarray | None = None,
    features: Features | None = None,
    random_state: RandomState = 0,
) -> Int64[np.ndarray, " K"] | None:
    """Set anchors and T of an untrained table, and return which objects the anchors are (None for "random").

    - "random": A is a random basis (`random_basis`), T stays as it is.
    - all others make objects anchors (`select_anchors`, which says what `counts` and `features` are): row a of the
      object behind anchor a is that anchor alone, T_{a,a} = 1 (appendix H).
    - with `features`, anchors are their objects' features brought to width D by a random rotation or projection, and
      the other rows are the nearest sparse non-negative combinations of them (`code_rows`). Rows that have none, such
      as words without a feature, keep the start they had.

    The vectors keep their size: the root mean square of T·A is what it was.
    """
    check_choice("strategy", strategy, STRATEGIES)
    generator = numpy_generator(random_state)
    size = _root_mean_square(table)
    ids = None
    if strategy == "random":
        table.anchors.data.copy_(random_basis(table.num_anchors, table.embedding_dim, random_state=generator))
    else:
        for name, rows in (("counts", counts), ("features", features)):
            if rows is not None and rows.shape[0] != table.num_embeddings:
                raise ValueError(f"{name} must have {table.num_embeddings} rows, one per id, got {rows.shape[0]}")
        ids = select_anchors(strategy, table.num_anchors, counts=counts, features=features, random_state=generator)
        codes = _own_anchors(table, ids)
        if features is not None:
            codes = codes + _near_anchors(table, features, ids, generator)
        _start_at(table, codes)
    table.anchors.data.mul_(size / max(_root_mean_square(table), 1e-12))
    return ids


def _own_anchors(table: AnchorEmbedding, ids: np.ndarray) -> sparse.csr_array:
    """Return T with T_{a,a} = 1 for every anchor object and nothing else."""
    where = (ids, np.arange(len(ids)))
    return sparse.csr_array((np.ones(len(ids), dtype=np.float32), where), shape=(table.num_embeddings, len(ids)))


def _near_anchors(
    table: AnchorEmbedding, features: Features, ids: np.ndarray, generator: np.random.Generator
) -> sparse.csr_array:
    """Set the anchors to their objects' features, and return codes of all other objects."""
    num_objects, feature_dim = features.shape
    # An isometry where the features fit into D dimensions, a random projection where they do not.
    if feature_dim <= table.embedding_dim:
        projection = random_basis(feature_dim, table.embedding_dim, random_state=generator).numpy()
    else:
        projection = random_basis(table.embedding_dim, feature_dim, random_state=generator).numpy().T
    anchors = np.asarray(features[ids] @ projection, dtype=np.float32)
    table.anchors.data.copy_(torch.from_numpy(anchors))
    blocks = []
    for start in range(0, num_objects, ROWS_AT_ONCE):
        points = np.asarray(features[start : start + ROWS_AT_ONCE] @ projection, dtype=np.float32)
        points[ids[(ids >= start) & (ids < start + ROWS_AT_ONCE)] - start] = 0  # anchors have themselves
        blocks.append(code_rows(points, anchors, table.num_slots))
    return sparse.vstack(blocks, format="csr")


def _start_at(table: AnchorEmbedding, codes: sparse.csr_array) -> None:
    """Give the rows that have a code this code, and leave the others as they are."""
    if table.padding_idx is not None:
        codes = without_row(codes, table.padding_idx)
    coded = torch.from_numpy(np.diff(codes.indptr) > 0).to(table.slots.device)
    slots, values = slots_from_csr(codes, table.num_slots)
    table.slots[coded] = torch.from_numpy(slots).to(table.slots)[coded]
    table.values.data[coded] = torch.from_numpy(values).to(table.values)[coded]


def _root_mean_square(table: AnchorEmbedding) -> float:
    """Return the size of the numbers of T·A, over so many rows that it is known well enough."""
    step = max(1, table.num_embeddings // ROWS_AT_ONCE)
    with torch.no_grad():
        return float(table(torch.arange(0, table.num_embeddings, step, device=table.device)).square().mean().sqrt())
