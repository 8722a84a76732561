"""Tables that train every row and store only some: the part that group lasso and variational dropout share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_bool, check_int, check_real
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.embeddings.rivals.vocabulary import find_kept
from gossamer.models.embeddings.sizing import INITIAL_STD, affordable, check_one_size, normal_parameter
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained


class RowSelection(EmbeddingTable):
    """A dense table that `finish()` cuts to the `num_kept` rows of highest score; all other ids embed to zeros.

    Kept are the vectors (`num_kept`, D) and their ids, sorted; they can be trained further. `finished=True` builds that
    stored form at once, for `restore`. At a `ratio`, the kept vectors fit into V·D/ratio numbers. `strength` multiplies
    the method's own penalty.
    """

    training_only: ClassVar[tuple[str, ...]] = ()  # parameters that `finish` removes
    kept: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_kept: int | None = None,
        *,
        ratio: float | None = None,
        strength: float = 1.0,
        finished: bool = False,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        self.num_kept = choose_num_kept(num_embeddings, embedding_dim, num_kept, ratio, numbers_each=embedding_dim)
        self.strength = check_real("strength", strength, at_least=0)
        self.finished = check_bool("finished", finished)
        if finished:
            self.vectors = nn.Parameter(torch.zeros(self.num_kept, embedding_dim))
            self.register_buffer("kept", torch.arange(self.num_kept, dtype=torch.int32))
        else:
            shape = (num_embeddings, embedding_dim)
            self.vectors = normal_parameter(shape, INITIAL_STD, torch_generator(random_state))
            self.add_training_parameters()

    def add_training_parameters(self) -> None:
        """Add the parameters named in `training_only`."""

    @abstractmethod
    def row_scores(self) -> Float[Tensor, " V"]:
        """Return how much each row deserves to be kept, in a table that is not finished."""

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the vectors of ids; after `finish`, zeros for those that were not kept."""
        if not self.finished:
            return functional.embedding(ids, self.vectors)
        places, is_kept = find_kept(self.kept, ids)
        return functional.embedding(places, self.vectors) * is_kept.unsqueeze(1)

    def finish(self) -> None:
        """Keep the rows of highest score and forget the others and what only training needs."""
        if not self.finished:
            with torch.no_grad():
                self._keep(self.row_scores())

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
        """Return a finished table of the rows of `weight` with the largest norms, exactly as they are."""
        values = check_pretrained(weight)
        table = cls(*values.shape, padding_idx=padding_idx, **size).to(values.device)
        with torch.no_grad():
            table.vectors.copy_(values)
            table._keep(values.norm(dim=1))
        return table

    def _keep(self, scores: Float[Tensor, " V"]) -> None:
        if self.padding_idx is not None:  # it embeds to zeros anyway
            scores = scores.index_fill(0, torch.tensor(self.padding_idx, device=scores.device), -torch.inf)
        best = scores.topk(self.num_kept).indices.sort().values
        self.vectors = nn.Parameter(self.vectors[best])
        self.register_buffer("kept", best.to(torch.int32))
        for name in self.training_only:
            delattr(self, name)
        self.finished = True


def choose_num_kept(
    num_embeddings: int, embedding_dim: int, num_kept: int | None, ratio: float | None, *, numbers_each: int
) -> int:
    """Return how many parts of `numbers_each` numbers are kept, from their count or from a compression ratio.

    >>> choose_num_kept(1000, 16, None, 20, numbers_each=16)
    50
    """
    check_one_size("num_kept", num_kept, ratio)
    if ratio is not None:
        return affordable(num_embeddings, embedding_dim, ratio, smallest=numbers_each) // numbers_each
    return check_int("num_kept", num_kept, at_least=1, at_most=num_embeddings * embedding_dim // numbers_each)
