"""LightGCN's propagation: means of neighbours' embeddings over the whole graph, without weights or non-linearity."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from torch import Tensor


def normalised_graph(matrix: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return D_u^−½ X D_i^−½ and its transpose, both by rows; nodes without edges have empty rows."""
    users, items = np.asarray(matrix.sum(axis=1)).ravel(), np.asarray(matrix.sum(axis=0)).ravel()
    scaled = sparse.diags_array(1 / np.sqrt(np.maximum(users, 1))) @ matrix
    scaled = (scaled @ sparse.diags_array(1 / np.sqrt(np.maximum(items, 1)))).tocsr().astype(matrix.dtype)
    return scaled, scaled.T.tocsr()


class _Multiply(torch.autograd.Function):
    """A constant sparse matrix times dense rows; the gradient is the transpose times theirs."""

    @staticmethod
    def forward(context: Any, dense: Tensor, matrix: sparse.csr_array, transposed: sparse.csr_array) -> Tensor:
        context.transposed = transposed
        return torch.from_numpy(matrix @ dense.detach().numpy())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return torch.from_numpy(context.transposed @ gradient.numpy()), None, None


def propagate(
    users: Float[Tensor, "N D"],
    items: Float[Tensor, "M D"],
    graph: sparse.csr_array,
    transposed: sparse.csr_array,
    num_layers: int,
) -> tuple[list[Float[Tensor, "N D"]], list[Float[Tensor, "M D"]]]:
    """Return the embeddings of all layers, 0 … num_layers: each layer is the other side's last one, averaged."""
    user_layers, item_layers = [users], [items]
    for _ in range(num_layers):
        nearer: Tensor = _Multiply.apply(item_layers[-1], graph, transposed)  # type: ignore[no-untyped-call]
        farther: Tensor = _Multiply.apply(user_layers[-1], transposed, graph)  # type: ignore[no-untyped-call]
        user_layers.append(nearer)
        item_layers.append(farther)
    return user_layers, item_layers
