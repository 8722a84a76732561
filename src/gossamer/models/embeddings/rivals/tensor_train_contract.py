"""Contractions of a tensor train of three cores: some rows of the table, or scores against all of them.

Cores are first (v1, d1, r1), second (r1, v2, d2, r2) and third (v3, r2, d3); V ≤ v1·v2·v3 and D = d1·d2·d3. Row
i = (i1·v2 + i2)·v3 + i3 of the table is first[i1] · second[:, i2] · third[i3]. A *prefix* is i1·v2 + i2.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gossamer.models.embeddings.rivals.tensor_train_kernels import fill_rows

GATHER_COST = 32  # reading a core's slice for one row costs about as much as this many products in a large matmul
MOST_PADDING = 4  # groups of rows are padded to one length while that makes at most this many times the rows
GROUP_SIZE = 32  # from this many rows per slice of the third core on, a matmul of groups overtakes compiled loops


def contract_prefixes(
    first: Float[Tensor, "v1 d1 r1"], second: Float[Tensor, "r1 v2 d2 r2"]
) -> Float[Tensor, "v1*v2 d1*d2 r2"]:
    """Return first[i1] · second[:, i2] for every pair (i1, i2), as one matrix product."""
    (v1, d1, r1), (_, v2, d2, r2) = first.shape, second.shape
    products = first.reshape(v1 * d1, r1) @ second.reshape(r1, -1)
    return products.reshape(v1, d1, v2, d2, r2).transpose(1, 2).reshape(v1 * v2, d1 * d2, r2)


def contract_rows(
    first: Float[Tensor, "v1 d1 r1"],
    second: Float[Tensor, "r1 v2 d2 r2"],
    third: Float[Tensor, "v3 r2 d3"],
    ids: Int[Tensor, " B"],
) -> Float[Tensor, "B D"]:
    """Return rows `ids`, by the way that reads least memory.

    Without gradients, on a CPU: compiled loops read the cores in place and contract each prefix that occurs, then each
    row; only many rows of a wide third core go the way of groups below.

    With gradients, or elsewhere. Few rows: each row's slices of all cores are gathered and multiplied as a batch. Many
    rows: all prefixes are contracted first. Where the third core's slices are larger than a prefix, rows with the same
    i3 are put side by side, so that every slice is read once and multiplies a matrix.
    """
    (v1, d1, _), (_, v2, d2, _), (v3, _, d3) = first.shape, second.shape, third.shape
    num_products, has_long_groups = v1 * d1 * v2, d3 > d1 * d2 and len(ids) >= GROUP_SIZE * v3
    if not has_long_groups and _is_for_compiled_loops(first, second, third, ids):
        return _contract_compiled(first, second, third, ids)
    if GATHER_COST * len(ids) < num_products:
        return _contract_each(_prefixes_of(first, second, ids // v3), third, ids % v3)
    prefixes = contract_prefixes(first, second)
    if d3 <= d1 * d2:
        return _contract_each(_take(prefixes, ids // v3), third, ids % v3)
    rows = _contract_groups(prefixes, third, ids)
    if rows is not None:
        return rows
    distinct, inverse = torch.unique(ids, return_inverse=True)  # one group is too long: its ids must be repeated
    rows = _contract_groups(prefixes, third, distinct)
    if rows is None:
        rows = _contract_each(_take(prefixes, distinct // v3), third, distinct % v3)
    return functional.embedding(inverse, rows)


def contract_scores(
    first: Float[Tensor, "v1 d1 r1"],
    second: Float[Tensor, "r1 v2 d2 r2"],
    third: Float[Tensor, "v3 r2 d3"],
    hidden: Float[Tensor, "N D"],
) -> Float[Tensor, "N v1*v2*v3"]:
    """Return hidden · Eᵀ without making E: the third core meets `hidden` first, then all prefixes do."""
    v3, r2, d3 = third.shape
    prefixes = contract_prefixes(first, second)
    num_prefixes, outer, _ = prefixes.shape
    narrowed = hidden.reshape(-1, d3) @ third.permute(2, 0, 1).reshape(d3, v3 * r2)
    narrowed = narrowed.reshape(len(hidden), outer, v3, r2).permute(0, 2, 1, 3).reshape(len(hidden), v3, outer * r2)
    scores = prefixes.reshape(num_prefixes, outer * r2) @ narrowed.transpose(1, 2)
    return scores.reshape(len(hidden), num_prefixes * v3)


def _is_for_compiled_loops(first: Tensor, second: Tensor, third: Tensor, ids: Tensor) -> bool:
    cores = (first, second, third)
    # A recorded graph would hold the numbers that compiled loops return, not how they come about.
    is_recorded = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    is_learning = torch.is_grad_enabled() and any(core.requires_grad for core in cores)
    is_on_cpu = all(tensor.device.type == "cpu" for tensor in (*cores, ids))
    return not is_recorded and not is_learning and is_on_cpu and first.dtype in (torch.float32, torch.float64)


def _contract_compiled(first: Tensor, second: Tensor, third: Tensor, ids: Tensor) -> Tensor:
    num_rows = len(first) * second.shape[1] * len(third)
    low, high = (int(bound) for bound in ids.aminmax()) if len(ids) else (0, 0)
    if low < 0 or high >= num_rows:
        raise ValueError(f"ids must be from 0 to {num_rows - 1}, got {low if low < 0 else high}")
    rows = first.new_empty(len(ids), first.shape[1] * second.shape[2], third.shape[2])
    one, two, three, numbers = (tensor.detach().contiguous().numpy() for tensor in (first, second, third, ids.long()))
    fill_rows(one, two, three, numbers, rows.numpy())
    return rows.flatten(1)


def _prefixes_of(first: Tensor, second: Tensor, prefix: Tensor) -> Tensor:
    (_, d1, r1), (_, v2, d2, r2) = first.shape, second.shape
    slices = _take(second.transpose(0, 1), prefix % v2).reshape(len(prefix), r1, d2 * r2)
    return (_take(first, prefix // v2) @ slices).reshape(len(prefix), d1 * d2, r2)


def _contract_each(prefixes: Tensor, third: Tensor, last: Tensor) -> Tensor:
    return (prefixes @ _take(third, last)).flatten(1)


def _contract_groups(prefixes: Tensor, third: Tensor, ids: Tensor) -> Tensor | None:
    """Return rows `ids`, or None where groups of equal i3 differ so much in length that padding costs too much."""
    v3, r2, _ = third.shape
    last = ids % v3
    counts = torch.bincount(last, minlength=v3)
    longest = int(counts.max())
    if longest * v3 > MOST_PADDING * len(ids):
        return None
    order = last.argsort()
    starts = counts.cumsum(0) - counts + torch.arange(v3, device=ids.device) * -longest
    places = torch.empty_like(last)
    places[order] = torch.arange(len(ids), device=ids.device)
    places -= starts.index_select(0, last)
    # Empty places hold prefix 0, whose product nobody reads.
    grouped = torch.zeros(v3 * longest, dtype=ids.dtype, device=ids.device)
    grouped[places] = ids // v3
    products = _take(prefixes, grouped).reshape(v3, -1, r2) @ third
    return functional.embedding(places, products.reshape(v3 * longest, -1))


def _take(blocks: Tensor, indices: Tensor) -> Tensor:
    """Return blocks[indices] by the lookup whose backward pass is fast on a CPU."""
    return functional.embedding(indices, blocks.flatten(1)).reshape(len(indices), *blocks.shape[1:])
