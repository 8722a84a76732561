"""What a model costs: values, bytes and multiply-adds. Sizes count all that must be stored, indices and biases too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_array
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

Storable: TypeAlias = np.ndarray | csr_array | torch.Tensor | torch.nn.Module


def count_values(stored: Storable | Mapping[str, Storable]) -> int:
    """Return how many values are stored: entries of dense arrays, nonzeros of CSR, parameters of a module.

    Integer and boolean arrays are indices and masks: they cost bytes but are no values. A module's persistent
    buffers count, tied weights count once. A mapping counts all it holds.

    >>> count_values(torch.nn.Linear(3, 2))
    8
    """
    return sum(values for values, _ in _values_and_bytes(stored))


def count_bytes(stored: Storable | Mapping[str, Storable]) -> int:
    """Return the bytes of everything stored, the indices of sparse matrices included.

    >>> count_bytes(csr_array(np.eye(2, dtype=np.float32)))
    28
    """
    return sum(num_bytes for _, num_bytes in _values_and_bytes(stored))


def count_macs(module: torch.nn.Module, *inputs: Any) -> int:
    """Return the multiply-adds of matrix products, convolutions, recurrences and attention in `module(*inputs)`.

    The module is run once without gradients and in its present mode. Lookups in embeddings cost none, a weighted
    sum of looked-up rows one per value; element-wise work (activations, normalisation) is not counted.

    >>> count_macs(torch.nn.Linear(3, 2), torch.ones(5, 3))
    30
    """
    counter = FlopCounterMode(display=False, custom_mapping=_UNCOUNTED_BY_TORCH)
    with torch.no_grad(), counter:
        module(*inputs)
    return counter.get_total_flops() // 2


def _values_and_bytes(stored: Storable | Mapping[str, Storable]) -> Iterator[tuple[int, int]]:
    match stored:
        case np.ndarray():
            yield (stored.size if stored.dtype.kind in "fc" else 0), stored.nbytes
        case csr_array():
            yield stored.nnz, stored.data.nbytes + stored.indices.nbytes + stored.indptr.nbytes
        case torch.Tensor():
            if stored.layout != torch.strided:
                raise ValueError(f"stored must be a dense tensor or a csr_array, got a tensor of {stored.layout}")
            is_value = stored.is_floating_point() or stored.is_complex()
            yield (stored.numel() if is_value else 0), stored.numel() * stored.element_size()
        case torch.nn.Module():
            state = stored.state_dict(keep_vars=True).values()
            # By identity, so that a tied weight, which has two names, is one tensor.
            for tensor in {id(entry): entry for entry in state if isinstance(entry, torch.Tensor)}.values():
                yield from _values_and_bytes(tensor)
        case Mapping():
            for part in stored.values():
                yield from _values_and_bytes(part)
        case _:
            raise ValueError(
                f"stored must be an array, csr_array, tensor, module or a mapping of them, got {type(stored).__name__}"
            )


# Operations that torch's counter takes for free, as functions of the arguments' shapes; two per multiply-add.
def _matrix_vector_flops(matrix: Any, *_: Any, **__: Any) -> int:
    return int(2 * np.prod(matrix))


def _lstm_layer_flops(steps: Any, input_weights: Any, hidden_weights: Any, *_: Any, **__: Any) -> int:
    return int(2 * np.prod(steps[:-1]) * (np.prod(input_weights) + np.prod(hidden_weights)))


def _attention_flops(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]


def _bag_flops(table: Any, indices: Any, *rest: Any, **_: Any) -> int:
    weights = rest[4] if len(rest) > 4 else None
    return 0 if weights is None else int(2 * np.prod(indices) * table[-1])


_aten = torch.ops.aten
_UNCOUNTED_BY_TORCH: dict[Any, Callable[..., int]] = {
    _aten.mv: _matrix_vector_flops,
    _aten.dot: _matrix_vector_flops,
    _aten.mkldnn_rnn_layer: _lstm_layer_flops,
    _aten._scaled_dot_product_flash_attention_for_cpu: _attention_flops,
    _aten._embedding_bag: _bag_flops,
    _aten._embedding_bag_forward_only: _bag_flops,
}
