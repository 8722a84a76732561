"""Group lasso: vocabulary selection by a penalty on the length of every row."""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.models.embeddings.rivals.row_selection import RowSelection


class GroupLassoEmbedding(RowSelection):
    """A table trained with strength · Σᵢ ‖Eᵢ‖₂ of which `finish()` keeps the `num_kept` longest rows.

    The norm, unlike its square, pulls rows that the loss hardly uses all the way to zero, so that cutting them costs
    little (Yuan & Lin 2006; for vocabularies Chen et al. 2019).
    """

    method: ClassVar[str] = "group-lasso"

    def row_scores(self) -> Float[Tensor, " V"]:
        """Return ‖Eᵢ‖₂ of every row."""
        norms: Tensor = torch.linalg.vector_norm(self.vectors, dim=1)
        return norms

    def penalty(self) -> Float[Tensor, ""]:
        """Return strength · Σᵢ ‖Eᵢ‖₂ while training, zero once the rows are chosen."""
        return super().penalty() if self.finished else self.strength * self.row_scores().sum()
