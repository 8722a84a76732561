"""Tables that train every weight and store only some, as CSR: the part that the sparse variational tables share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from gossamer.core.checks import check_bool, check_real
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.embeddings.rivals.row_selection import choose_num_kept
from gossamer.models.embeddings.sizing import INITIAL_STD, normal_parameter
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained


class WeightSelection(EmbeddingTable):
    """A dense table of which `finish()` keeps the `num_kept` weights of highest score, wherever they are.

    Kept are `values`, their `columns` (in the smallest integer type that fits) and `indptr` (V + 1), as in CSR; the
    values can be trained further. `finished=True` builds that stored form at once, for `restore`. `strength` multiplies
    the method's own penalty.
    """

    training_only: ClassVar[tuple[str, ...]] = ("means",)  # parameters that `finish` removes
    columns: Tensor
    indptr: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_kept: int | None = None,
        *,
        ratio: float | None = None,
        strength: float = 0.03,
        finished: bool = False,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        self.num_kept = choose_num_kept(num_embeddings, embedding_dim, num_kept, ratio, numbers_each=1)
        self.strength = check_real("strength", strength, at_least=0)
        self.finished = check_bool("finished", finished)
        if finished:
            self._store(torch.zeros(self.num_kept), torch.arange(self.num_kept))
        else:
            shape = (num_embeddings, embedding_dim)
            self.means = normal_parameter(shape, INITIAL_STD, torch_generator(random_state))
            self.add_training_parameters()

    def add_training_parameters(self) -> None:
        """Add the parameters named in `training_only`, besides `means`."""

    @abstractmethod
    def mean_vectors(self) -> Float[Tensor, "V D"]:
        """Return the vectors that lookups give outside training, in a table that is not finished."""

    @abstractmethod
    def weight_scores(self) -> Float[Tensor, "V D"]:
        """Return how much each weight deserves to be kept, in a table that is not finished."""

    @abstractmethod
    def trained_rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the vectors of ids in a table that is not finished, noisy in training mode."""

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the vectors of ids; after `finish`, with zeros where a weight was not kept."""
        if not self.finished:
            return self.trained_rows(ids)
        starts = self.indptr[ids].long()
        lengths = self.indptr[ids + 1].long() - starts
        owners = torch.repeat_interleave(torch.arange(len(ids), device=ids.device), lengths)
        firsts = lengths.cumsum(0) - lengths
        entries = torch.arange(len(owners), device=ids.device) + (starts - firsts)[owners]
        vectors = self.values.new_zeros(len(ids), self.embedding_dim)
        return vectors.index_put((owners, self.columns[entries].long()), self.values[entries])

    def finish(self) -> None:
        """Keep the weights of highest score and forget the others and what only training needs."""
        if not self.finished:
            with torch.no_grad():
                self._keep(self.weight_scores(), self.mean_vectors())

    def config(self) -> dict[str, Any]:
        """Return the arguments that build this table's shapes."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "num_kept": self.num_kept,
            "strength": self.strength,
            "finished": self.finished,
            "padding_idx": self.padding_idx,
        }

    @classmethod
    def from_pretrained(cls, weight: Float[Tensor, "V D"], *, padding_idx: int | None = None, **size: Any) -> Self:
        """Return a finished table of the weights of `weight` with the largest magnitudes, exactly as they are."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size).to(values.device)
        table._keep(values.abs(), values)
        return table

    def _keep(self, scores: Float[Tensor, "V D"], vectors: Float[Tensor, "V D"]) -> None:
        if self.padding_idx is not None:  # it embeds to zeros anyway
            scores = scores.index_fill(0, torch.tensor(self.padding_idx, device=scores.device), -torch.inf)
        kept = scores.flatten().topk(self.num_kept).indices.sort().values
        self._store(vectors.flatten()[kept], kept)
        for name in self.training_only:
            delattr(self, name)
        self.finished = True

    def _store(self, values: Float[Tensor, " n"], places: Int[Tensor, " n"]) -> None:
        """Take over weights by their sorted places in the flattened table."""
        rows = torch.div(places, self.embedding_dim, rounding_mode="floor")
        ends = torch.arange(self.num_embeddings + 1, device=places.device)
        self.values = nn.Parameter(values)
        self.register_buffer("columns", (places % self.embedding_dim).to(index_dtype(self.embedding_dim)))
        self.register_buffer("indptr", torch.searchsorted(rows, ends).to(torch.int32))


def index_dtype(count: int) -> torch.dtype:
    """Return the smallest integer type that holds 0 … count − 1.

    >>> index_dtype(256), index_dtype(257)
    (torch.uint8, torch.int16)
    """
    if count <= 1 << 8:
        return torch.uint8
    return torch.int16 if count <= 1 << 15 else torch.int32
