"""Wide and deep: the first embedding of a user or item from its features (3.1, 3.2) and, where it has one, its id."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.community.features import FeatureCodes

FIRST_RANGE = 0.1
ROW_SPARSE_FROM = 20_000


@dataclass(frozen=True)
class CodeTable:
    """Feature codes of all nodes of one side as tensors, from which any rows can be taken."""

    offsets: Int[Tensor, " N1"]
    values: Int[Tensor, " Z"]
    numbers: Float[Tensor, "N C"]

    @classmethod
    def of(cls, codes: FeatureCodes) -> CodeTable:
        """Take codes over; memory is shared."""
        return cls(torch.from_numpy(codes.offsets), torch.from_numpy(codes.values), torch.from_numpy(codes.numbers))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows: Int[Tensor, " B"]) -> CodeTable:
        """Return the rows; -1 stands for a node of which nothing is known."""
        is_known = rows >= 0
        safe = rows.clamp(min=0)
        if len(self) == 0:
            nothing = torch.zeros(len(rows) + 1, dtype=torch.int64)
            return CodeTable(nothing, self.values[:0], self.numbers.new_zeros(len(rows), self.numbers.shape[1]))
        begins = self.offsets[safe]
        lengths = (self.offsets[safe + 1] - begins) * is_known
        offsets = torch.cat([lengths.new_zeros(1), torch.cumsum(lengths, 0)])
        places = torch.arange(int(offsets[-1])) + torch.repeat_interleave(begins - offsets[:-1], lengths)
        return CodeTable(offsets, self.values[places], self.numbers[safe] * is_known[:, None])


class WideAndDeep(nn.Module):
    """Adds a linear (wide) and a non-linear (deep) reading of features, and an embedding of the id.

    A node without features and without a known id is the zero vector. With many ids, their gradient is row-sparse.
    """

    def __init__(
        self,
        num_values: int,
        num_numbers: int,
        width: int,
        *,
        num_ids: int = 0,
    ) -> None:
        super().__init__()
        self.width, self.num_ids = width, num_ids
        self.has_features = num_values + num_numbers > 0
        self.ids: nn.Module | None = None
        if num_ids:
            self.ids = nn.Embedding(num_ids, width, sparse=num_ids >= ROW_SPARSE_FROM)
            nn.init.normal_(self.ids.weight, std=FIRST_RANGE)
        if self.has_features:
            self.wide = nn.Embedding(max(num_values, 1), width)
            self.deep = nn.Embedding(max(num_values, 1), width)
            nn.init.normal_(self.wide.weight, std=FIRST_RANGE)
            nn.init.normal_(self.deep.weight, std=FIRST_RANGE)
            self.numbers = nn.Linear(max(num_numbers, 1), 2 * width, bias=False)
            self.hidden = nn.Linear(width, width)
            self.out = nn.Linear(width, width, bias=False)

    def replace_ids(self, module: nn.Module, num_ids: int) -> None:
        """Let another module embed ids: any that turns numbers into vectors of the same width."""
        with torch.no_grad():
            found = module(torch.arange(min(num_ids, 2)))
        if not isinstance(found, Tensor) or found.shape != (min(num_ids, 2), self.width):
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(f"item_embedding must give {self.width} numbers per item, got {shape}")
        self.ids = module

    @torch.no_grad()
    def settle_ids(self) -> None:
        """Put a plain table in the place of another module, with what it has learned."""
        assert self.ids is not None
        self.ids.eval()
        table = self.ids(torch.arange(self.num_ids)).detach().clone()
        self.ids = nn.Embedding(self.num_ids, self.width, _weight=table)

    def forward(self, codes: CodeTable, ids: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B D"]:
        """Return one embedding per row; id -1 is unknown."""
        embedded = self._read(codes) if self.has_features else codes.numbers.new_zeros(len(codes), self.width)
        if self.ids is None or ids is None:
            return embedded
        is_known = ids >= 0
        named: Tensor = self.ids(ids.clamp(min=0))
        return embedded + named * is_known[:, None]

    def _read(self, codes: CodeTable) -> Float[Tensor, "B D"]:
        is_on = (codes.offsets[1:] > codes.offsets[:-1]) | (codes.numbers != 0).any(dim=1)
        numbers = codes.numbers
        if numbers.shape[1] == 0:
            numbers = numbers.new_zeros(len(codes), 1)
        wide_numbers, deep_numbers = self.numbers(numbers).chunk(2, dim=1)
        offsets = codes.offsets[:-1]
        wide = functional.embedding_bag(codes.values, self.wide.weight, offsets, mode="sum") + wide_numbers
        deep = functional.embedding_bag(codes.values, self.deep.weight, offsets, mode="sum") + deep_numbers
        # The hidden layer has a bias: without this, a node of which nothing is known would not be zero.
        read: Tensor = wide + self.out(torch.relu(self.hidden(deep))) * is_on[:, None]
        return read


def no_codes(num_rows: int, num_numbers: int = 0) -> CodeTable:
    """Return the codes of nodes without features."""
    return CodeTable(
        torch.zeros(num_rows + 1, dtype=torch.int64),
        torch.empty(0, dtype=torch.int64),
        torch.from_numpy(np.zeros((num_rows, num_numbers), dtype=np.float32)),
    )
