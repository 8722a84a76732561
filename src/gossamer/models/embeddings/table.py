"""What every table of vectors in this room can do: `nn.Embedding`'s face over fewer stored numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int, check_real

ROWS_AT_ONCE = 1 << 14  # bounds the temporary memory of whatever passes over a whole table


class EmbeddingTable(nn.Module, ABC):
    """V vectors of width D, looked up by id like `nn.Embedding`, tied to an output layer by `logits`.

    A subclass computes `rows(ids)` from its own parameters. Size is given by its own arguments or by `ratio`, the
    factor by which V·D numbers shrink. Regularisers that belong to the table are in `penalty()`, which the task adds
    to its loss; `finish()` ends training and leaves what is stored. `padding_idx` embeds to zeros and learns nothing.
    """

    method: ClassVar[str]  # its name in experiments, records and `compress_embeddings_`
    is_post_hoc: ClassVar[bool] = False  # made from a trained table by `from_pretrained`, not trained itself

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        super().__init__()
        self.num_embeddings = check_int("num_embeddings", num_embeddings, at_least=1)
        self.embedding_dim = check_int("embedding_dim", embedding_dim, at_least=1)
        if padding_idx is not None:
            check_int("padding_idx", padding_idx, at_least=0, at_most=num_embeddings - 1)
        self.padding_idx = padding_idx

    @abstractmethod
    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the vectors of valid ids, differentiably; padding is the caller's business."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """Return JSON-able arguments with which `type(self)(**config)` has this table's shapes as they are now."""

    @classmethod
    @abstractmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return a table close to `weight`; `size` is the constructor's own arguments, such as `ratio`."""

    def forward(self, ids: Int[Tensor, " ..."]) -> Float[Tensor, "... D"]:
        """Return one vector per id, for ids of any shape."""
        flat = self.check_ids(ids).reshape(-1)
        vectors = self.rows(flat)
        if self.padding_idx is not None:
            vectors = vectors.masked_fill((flat == self.padding_idx).unsqueeze(1), 0.0)
        return vectors.reshape(*ids.shape, self.embedding_dim)

    @property
    def weight(self) -> Float[Tensor, "V D"]:
        """The whole table, made on demand: V·D numbers, detached from training."""
        with torch.no_grad():
            every = torch.arange(self.num_embeddings, device=self.device)
            return torch.cat([self.forward(block) for block in torch.split(every, ROWS_AT_ONCE)])

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device if any(True for _ in self.parameters()) else torch.device("cpu")

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return hidden · Eᵀ, the scores of a tied output layer, differentiable in both."""
        every = torch.arange(self.num_embeddings, device=hidden.device)
        weight: Tensor = self.forward(every)
        scores: Tensor = functional.linear(hidden, weight)
        return scores

    def bag(
        self, ids: Int[Tensor, " B"], offsets: Int[Tensor, " N"], weights: Float[Tensor, " B"] | None = None
    ) -> Float[Tensor, "N D"]:
        """Return the (weighted) sum of vectors of each bag; bag n is ids[offsets[n] : offsets[n + 1]]."""
        if offsets.dim() != 1 or len(offsets) == 0 or int(offsets[0]) != 0 or bool((offsets.diff() < 0).any()):
            raise ValueError(f"offsets must begin with 0 and never fall, got {offsets.tolist()[:5]}")
        if int(offsets[-1]) > len(ids):
            raise ValueError(f"offsets must be at most the {len(ids)} ids, got {int(offsets[-1])}")
        ends = torch.cat([offsets[1:], offsets.new_tensor([len(ids)])])
        bags = torch.repeat_interleave(torch.arange(len(offsets), device=ids.device), ends - offsets)
        vectors = self(ids)
        if weights is not None:
            vectors = vectors * weights.unsqueeze(1)
        sums: Tensor = vectors.new_zeros(len(offsets), self.embedding_dim).index_add(0, bags, vectors)
        return sums

    def penalty(self) -> Float[Tensor, ""]:
        """Return the table's own regulariser, to be added to the summed loss of one epoch; zero for most."""
        return torch.zeros((), device=self.device)

    def finish(self) -> None:
        """End training: drop in place what the method has decided not to store. Idempotent."""

    def stored(self) -> dict[str, np.ndarray]:
        """Return the arrays an artifact holds, from which `restore` rebuilds the table."""
        return {name: tensor.detach().cpu().numpy() for name, tensor in self.state_dict().items()}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take back `stored()` into a table built with `config()`; wrong names or shapes are named."""
        expected = self.state_dict()
        if set(arrays) != set(expected):
            raise ValueError(f"arrays must be {sorted(expected)}, got {sorted(arrays)}")
        for name, tensor in expected.items():
            if arrays[name].shape != tuple(tensor.shape):
                raise ValueError(f"{name} must have shape {tuple(tensor.shape)}, got {arrays[name].shape}")
            if arrays[name].dtype.kind == "f" and not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} must be finite, got NaN or infinity")
        self.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})

    def num_values(self) -> int:
        """Return how many numbers are stored; indices count as bytes, not as values."""
        return sum(array.size for array in self.stored().values() if array.dtype.kind == "f")

    def nbytes(self) -> int:
        """Return the bytes of everything stored, indices included."""
        return sum(array.nbytes for array in self.stored().values())

    def check_ids(self, ids: Int[Tensor, " ..."]) -> Int[Tensor, " ..."]:
        """Return ids as they are, or name the first one that is out of range."""
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise ValueError(f"ids must be integers, got {ids.dtype}")
        if ids.numel() and not torch.compiler.is_compiling():
            low, high = int(ids.min()), int(ids.max())
            if low < 0 or high >= self.num_embeddings:
                wrong = low if low < 0 else high
                raise ValueError(f"ids must be from 0 to {self.num_embeddings - 1}, got {wrong}")
        return ids

    def clear_padding(self, scores: Float[Tensor, "... V"]) -> Float[Tensor, "... V"]:
        """Return scores with zero for padding, whose vector is zero."""
        if self.padding_idx is None:
            return scores
        return scores.index_fill(-1, torch.tensor([self.padding_idx], device=scores.device), 0.0)

    def extra_repr(self) -> str:
        """Return what `print(model)` shows."""
        return f"{self.num_embeddings}, {self.embedding_dim}, method={self.method!r}"


def check_pretrained(weight: Tensor) -> Float[Tensor, "V D"]:
    """Return a V × D table as float32, or say what is wrong with which row."""
    if weight.dim() != 2 or weight.numel() == 0:
        raise ValueError(f"weight must be a V × D table, got shape {tuple(weight.shape)}")
    values = weight.detach().to(torch.float32)
    if not bool(values.isfinite().all()):
        row = int((~values.isfinite()).any(dim=1).nonzero()[0])
        raise ValueError(f"weight must be finite, got NaN or infinity in row {row}")
    return values


def budget_of(num_embeddings: int, embedding_dim: int, ratio: float) -> int:
    """Return how many numbers may be stored at a compression ratio.

    >>> budget_of(1000, 64, 20)
    3200
    """
    check_real("ratio", ratio, at_least=1)
    return int(num_embeddings * embedding_dim / ratio)
