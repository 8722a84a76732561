"""An anchor table whose rows of T are divided among processes: anchors everywhere, row i on process i mod W."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from torch import Tensor

from gossamer.core.rows import take_rows
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.anchor_size import AnchorSize
from gossamer.models.embeddings.exchange import LookUpShared, Requests
from gossamer.models.embeddings.gathering import gather_rows
from gossamer.models.embeddings.sizing import INITIAL_STD
from gossamer.models.embeddings.slots import slot_dtype
from gossamer.models.embeddings.tied_logits import combine_anchors

ROWS_AT_ONCE = 1 << 16


class ShardedAnchorEmbedding(AnchorEmbedding):
    """`AnchorEmbedding` of which this process holds rows rank, rank + W, rank + 2W …, optimiser state included.

    A lookup asks the owners for slots and weights, S of each per different id, and combines them with the anchors,
    which every process has and DDP averages; weights' gradients go back to the owners, whose proximal optimiser updates
    their rows alone. All processes make the same lookups, each with its own ids. Arguments and start are those of
    `AnchorEmbedding` whatever W is; make processes known (`make_fabric`) before a table is made.

    There is no `logits`, no `grow` and no regrowth: those need all rows or all gradients in one place. `whole()`
    returns the ordinary table, which is what is stored, explained and served.
    """

    method = "ant-sharded"
    own_tensors = ("values", "slots")  # see `prepare_for_processes`

    @property
    def first_row(self) -> int:
        """The first id whose row is here: this process's number."""
        return dist.get_rank() if dist.is_initialized() else 0

    @property
    def num_shards(self) -> int:
        """W, how many processes divide T among them."""
        return dist.get_world_size() if dist.is_initialized() else 1

    def _start(
        self, size: AnchorSize, generator: np.random.Generator
    ) -> tuple[Int[np.ndarray, "R S"], Float[np.ndarray, "R S"], Float[np.ndarray, "K D"]]:
        """Return this process's rows of `AnchorEmbedding`'s start, which is drawn block by block and never held."""
        if not self.sparse:
            raise ValueError("sparse must be True for a table that is divided among processes, got False")
        num_rows = len(range(self.first_row, self.num_embeddings, self.num_shards))
        slots = np.empty((num_rows, size.num_slots), dtype=slot_dtype(size.num_anchors))
        values = np.empty((num_rows, size.num_slots), dtype=np.float32)
        bounds = np.linspace(0, size.num_anchors, size.num_slots + 1).astype(np.int64)
        blocks = range(0, self.num_embeddings, ROWS_AT_ONCE * self.num_shards)  # so that own rows lie alike in each
        for slot in range(size.num_slots):
            for begin in blocks:
                count = min(blocks.step, self.num_embeddings - begin)
                drawn = generator.integers(bounds[slot], bounds[slot + 1], size=count)[
                    self.first_row :: self.num_shards
                ]
                slots[begin // self.num_shards :, slot][: len(drawn)] = drawn
        for begin in blocks:
            count = min(blocks.step, self.num_embeddings - begin)
            normal = generator.standard_normal((count, size.num_slots), dtype=np.float32)
            kept = normal[self.first_row :: self.num_shards]
            values[begin // self.num_shards :][: len(kept)] = np.abs(kept)
        values *= np.float32(np.sqrt(2 / size.num_slots))
        anchors = generator.standard_normal((size.num_anchors, self.embedding_dim), dtype=np.float32)
        if self.padding_idx is not None and self.padding_idx % self.num_shards == self.first_row:
            values[self.padding_idx // self.num_shards] = 0
        return slots, values, anchors * np.float32(INITIAL_STD * np.sqrt(0.5))

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return Σ_s values[i, s] · anchors[slots[i, s]] for each id, wherever row i is."""
        if self.num_shards == 1:
            return super().rows(ids)
        requests = Requests.of(ids)
        self.catch_up(requests.asked)
        # gloo sends no 16-bit integers
        slots = requests.answer(take_rows(self.slots, requests.asked).to(torch.int32))[requests.place]
        values: Tensor = LookUpShared.apply(self.values, requests)  # type: ignore[no-untyped-call]
        return combine_anchors(slots, self._switched(slots, values), self.anchors)

    def whole(self) -> AnchorEmbedding:
        """Return the undivided table, on every process; all call it together."""
        table = self._gathered(only_first=False)
        assert table is not None
        return table

    def whole_on_first(self) -> AnchorEmbedding | None:
        """Return the undivided table on process 0 and None on the others, which never hold it; all call it together."""
        return self._gathered(only_first=True)

    def _gathered(self, only_first: bool) -> AnchorEmbedding | None:
        own = self._own_transform()
        transform = gather_rows(own, self.num_embeddings, only_first=only_first) if self.num_shards > 1 else own
        if transform is None:
            return None
        anchors = self.anchors.detach().float().cpu().numpy()[: self.num_active]
        return AnchorEmbedding.from_codes(
            anchors,
            transform,
            num_slots=min(self.num_slots, self.num_active),
            padding_idx=self.padding_idx,
            orthogonality=self.orthogonality,
        )

    def _own_transform(self) -> csr_array:
        return super().transform()[:, : self.num_active]

    def transform(self) -> csr_array:
        """Return all of T; all processes call it together."""
        return self.whole().transform()

    def nnz(self) -> int:
        """Return the number of nonzeros in all of T; all processes call it together."""
        own = torch.tensor([super().nnz()])
        if self.num_shards > 1:
            dist.all_reduce(own)
        return int(own)

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Refuse: scores of all ids need all rows."""
        del hidden
        raise ValueError("a divided table has no logits; train with sampled ids, or take whole()")

    def grow(self, n: int, **options: Any) -> None:
        """Refuse: rows are added to the undivided table."""
        del n, options
        raise ValueError("a divided table does not grow; grow whole() and divide it anew")

    def set_exempt(self, related: csr_array) -> None:
        """Refuse: relations are known of the undivided table."""
        del related
        raise ValueError("a divided table has no relations; use AnchorEmbedding")

    def finish(self) -> None:
        """Forget the optimiser; `whole()` leaves out what no row uses."""
        self.catch_up()
        self.optimiser = self.regrowth = None
