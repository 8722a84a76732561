"""Anchor & Transform: every vector is a sparse, non-negative combination of a few anchors, E = T·A (section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from torch import Tensor, nn

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.models.embeddings.anchor_size import AnchorSize, anchor_size, largest_per_row, without_row
from gossamer.models.embeddings.packing import pack_transform, unpack_transform
from gossamer.models.embeddings.sizing import INITIAL_STD
from gossamer.models.embeddings.slot_lookup import look_up_slots
from gossamer.models.embeddings.slots import csr_from_slots, slots_from_csr, spread_slots
from gossamer.models.embeddings.sparse_rows import fit_codes
from gossamer.models.embeddings.table import EmbeddingTable, check_pretrained
from gossamer.models.embeddings.tied_logits import TiedLogits, combine_anchors

if TYPE_CHECKING:
    from gossamer.models.embeddings.regrowth import Regrowth
    from gossamer.training.proximal import ProximalOptimiser


class AnchorEmbedding(EmbeddingTable):
    """`nn.Embedding` whose V × D table is a sparse T ≥ 0 (V × K) times anchors A (K × D).

    A row of T has `num_slots` places for nonzeros (`slots.py`); memory for parameters, gradients and optimiser grows
    with V · num_slots and with the rows of a batch, never with V · K or V · D. Give `num_anchors`, or the compression
    `ratio`, which fixes both numbers. A row whose weights are all zero embeds to the zero vector.

    Train it with `make_optimiser`, whose proximal steps create exact zeros and whose regrowth creates new nonzeros.
    With `sparse` gradients of T come in rows, as those of `nn.Embedding(sparse=True)`; `logits` makes them dense.

    >>> table = AnchorEmbedding(1000, 64, ratio=20)
    >>> table(torch.tensor([3, 1, 4])).shape, table.num_values() <= 1000 * 64 / 20
    (torch.Size([3, 64]), True)
    """

    method = "ant"
    row_sparse = ("values",)  # see `training.devices.prepare_for_processes`
    slots: Tensor
    exempt: Tensor | None

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_anchors: int | None = None,
        *,
        ratio: float | None = None,
        num_slots: int | None = None,
        padding_idx: int | None = None,
        sparse: bool = True,
        orthogonality: float = 0.0,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        size = anchor_size(num_embeddings, embedding_dim, num_anchors, ratio, num_slots)
        self.sparse = sparse
        self.orthogonality = check_real("orthogonality", orthogonality, at_least=0)
        slots, values, anchors = self._start(size, numpy_generator(random_state))
        self.register_buffer("slots", torch.from_numpy(slots))
        self.register_buffer("exempt", None)
        self.values = nn.Parameter(torch.from_numpy(values))
        self.anchors = nn.Parameter(torch.from_numpy(anchors))
        self.num_active = size.num_anchors
        self.optimiser: ProximalOptimiser | None = None  # owes thresholds to rows, see `catch_up`
        self.regrowth: Regrowth | None = None
        self.num_updates = 0
        self._related: csr_array | None = None

    def _start(
        self, size: AnchorSize, generator: np.random.Generator
    ) -> tuple[Int[np.ndarray, "V S"], Float[np.ndarray, "V S"], Float[np.ndarray, "K D"]]:
        """Return slots, weights and anchors before training."""
        slots = spread_slots(self.num_embeddings, size.num_anchors, size.num_slots, generator)
        values, anchors = _random_start(self.num_embeddings, size, self.embedding_dim, generator)
        if self.padding_idx is not None:
            values[self.padding_idx] = 0
        return slots, values, anchors

    @property
    def num_anchors(self) -> int:
        """K, anchors that are switched off included."""
        return len(self.anchors)

    @property
    def num_slots(self) -> int:
        """S, the most nonzeros a row can have."""
        return self.slots.shape[1]

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return Σ_s values[i, s] · anchors[slots[i, s]] for each id."""
        self.catch_up(ids)
        slots, values = look_up_slots(self.slots, self.values, ids, sparse=self.sparse)
        vectors = combine_anchors(slots, self._switched(slots, values), self.anchors)
        if self.regrowth is not None and self.regrowth.listens and vectors.requires_grad:
            vectors.register_hook(self.regrowth.hook(ids))  # type: ignore[no-untyped-call]
        return vectors

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return hidden · Eᵀ block by block; see `TiedLogits`. The gradient of T is dense over its slots."""
        self.catch_up()
        flat = hidden.reshape(-1, self.embedding_dim)
        values = self._switched(self.slots, self.values)
        if self.padding_idx is not None:
            padding = torch.arange(self.num_embeddings, device=values.device) == self.padding_idx
            values = values.masked_fill(padding.unsqueeze(1), 0.0)
        listener = self.regrowth if self.regrowth is not None and self.regrowth.listens else None
        on_gradient = None if listener is None else listener.note
        scores: Tensor = TiedLogits.apply(flat, self.slots, values, self.anchors, on_gradient)  # type: ignore[no-untyped-call]
        return scores.reshape(*hidden.shape[:-1], self.num_embeddings)

    def _switched(self, slots: Tensor, values: Tensor) -> Tensor:
        """Return weights with those of inactive anchors at zero."""
        if self.num_active == self.num_anchors:
            return values
        return values.masked_fill(slots >= self.num_active, 0.0)

    def penalty(self) -> Float[Tensor, ""]:
        """Return orthogonality · Σ_{i≠j} |a_i·a_j| over active anchors (appendix E)."""
        if self.orthogonality == 0:
            return super().penalty()
        anchors = self.anchors[: self.num_active]
        gram = (anchors @ anchors.T).abs()
        return self.orthogonality * (gram.sum() - gram.diagonal().sum())

    def catch_up(self, ids: Int[Tensor, " B"] | None = None) -> None:
        """Apply the thresholds that the optimiser owes these rows (all if None), so that what is read is up to date."""
        if self.optimiser is not None:
            self.optimiser.catch_up(self.values, ids)

    def transform(self) -> csr_array:
        """Return T (V, K) as it is now, nonzeros only; anchors that are switched off have empty columns."""
        self.catch_up()
        with torch.no_grad():
            values = self._switched(self.slots, self.values).float().cpu().numpy()
        return csr_from_slots(self.slots.cpu().numpy(), values, self.num_anchors)

    def nnz(self) -> int:
        """Return the number of nonzeros in T."""
        self.catch_up()
        with torch.no_grad():
            return int(self._switched(self.slots, self.values).count_nonzero())

    def anchors_of(self, index: int, n: int | None = None) -> list[tuple[int, float]]:
        """Return the anchors that make up a vector, heaviest first, as (anchor, weight)."""
        self.check_ids(torch.tensor([index]))
        row = self.transform()[[index]]
        order = np.argsort(-row.data, kind="stable")[:n]
        return [(int(row.indices[position]), float(row.data[position])) for position in order]

    def members_of(self, anchor: int, n: int | None = 10) -> list[tuple[int, float]]:
        """Return the ids that use an anchor most, as (id, weight)."""
        check_int("anchor", anchor, at_least=0, at_most=self.num_anchors - 1)
        column = self.transform()[:, [anchor]].tocoo()
        order = np.argsort(-column.data, kind="stable")[:n]
        return [(int(column.row[position]), float(column.data[position])) for position in order]

    def grow(self, n: int, *, random_state: RandomState = 0) -> None:
        """Append n ids with fresh rows of T; anchors, other rows and the optimiser's state of them stay as they are."""
        check_int("n", n, at_least=1)
        generator = numpy_generator(random_state)
        size = AnchorSize(self.num_anchors, self.num_slots)
        slots = spread_slots(n, self.num_anchors, self.num_slots, generator)
        values, _ = _random_start(n, size, self.embedding_dim, generator)
        self.slots = torch.cat([self.slots, torch.from_numpy(slots).to(self.slots)])
        self.values.data = torch.cat([self.values.data, torch.from_numpy(values).to(self.values)])
        self.values.grad = None  # of the old shape
        self.num_embeddings += n
        if self.optimiser is not None:
            self.optimiser.grow_rows(self.values)
        if self._related is not None:
            grown = self._related.copy()
            grown.resize(self.num_embeddings, self.num_anchors)
            self.set_exempt(grown)

    def set_exempt(self, related: csr_array) -> None:
        """Never shrink the entries where `related` (V, K) is true: 1 − S(G) of eq (4), kept sparse.

        Related anchors take a row's slots first, as many as there are; weights of anchors that stay are kept.
        """
        if related.shape != (self.num_embeddings, self.num_anchors):
            raise ValueError(f"related must be {self.num_embeddings} × {self.num_anchors}, got {related.shape}")
        if self.num_slots < self.num_anchors:
            self._make_room(related)
        self._related = csr_array(related, dtype=bool)
        rows = np.repeat(np.arange(self.num_embeddings), self.num_slots)
        exempt = self.is_related(rows, self.slots.cpu().numpy().ravel()).reshape(self.slots.shape)
        self.exempt = torch.from_numpy(exempt).to(self.slots.device)
        if self.optimiser is not None:
            for group in self.optimiser.param_groups:
                if any(parameter is self.values for parameter in group["params"]):
                    group["exempt"] = self.exempt

    def is_related(self, rows: Int[np.ndarray, " n"], anchors: Int[np.ndarray, " n"]) -> np.ndarray:
        """Say for each (row, anchor) whether it is exempt from shrinking."""
        if self._related is None:
            return np.zeros(len(rows), dtype=bool)
        return np.asarray(self._related[rows, anchors], dtype=bool).ravel()

    def _make_room(self, related: csr_array) -> None:
        """Give each row's slots to its related anchors first; the weights of all others stay while there is room."""
        present = self.transform()
        wanted = csr_array(related, dtype=np.float32)
        # Heaviest first: related entries (2) before present ones, whose weights are scaled below 1.
        rank = wanted * 2 + present / (1 + abs(present).max())
        kept = largest_per_row(rank, self.num_slots)
        start = float(self.values.detach().mean()) or 1.0
        weights = present.multiply(kept) + (kept > present.astype(bool)) * np.float32(start)
        slots, values = slots_from_csr(csr_array(weights), self.num_slots)
        self.slots.copy_(torch.from_numpy(slots))
        self.values.data.copy_(torch.from_numpy(values))

    def finish(self) -> None:
        """Forget the optimiser, anchors that are switched off and slots that no row uses."""
        transform = self.transform()[:, : self.num_active]
        anchors = self.anchors.detach()[: self.num_active]
        self.optimiser = self.regrowth = None
        self._hold(anchors, transform, max(1, int(np.diff(transform.indptr).max(initial=0))))

    def get_extra_state(self) -> Int[Tensor, " 2"]:
        """Return what a checkpoint needs beside tensors: how many anchors are on, and how many updates were made."""
        return torch.tensor([self.num_active, self.num_updates])

    def set_extra_state(self, state: Int[Tensor, " 2"]) -> None:
        """Take back `get_extra_state()`."""
        self.num_active, self.num_updates = (int(number) for number in state)

    def config(self) -> dict[str, Any]:
        """Return the arguments that give these shapes."""
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "num_anchors": self.num_active,
            "num_slots": min(self.num_slots, self.num_active),
            "padding_idx": self.padding_idx,
            "sparse": self.sparse,
            "orthogonality": self.orthogonality,
        }

    def stored(self) -> dict[str, np.ndarray]:
        """Return the active anchors, and T as values, column numbers of the smallest integers, and row pointers."""
        anchors = self.anchors.detach().float().cpu().numpy()[: self.num_active]
        return {"anchors": anchors, **pack_transform(self.transform()[:, : self.num_active])}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take back `stored()`, checked."""
        shape = (self.num_embeddings, self.num_anchors)
        anchors, transform = unpack_transform(arrays, shape, self.embedding_dim, self.num_slots)
        self._hold(torch.from_numpy(anchors), transform, self.num_slots)

    def _hold(self, anchors: Tensor, transform: csr_array, num_slots: int) -> None:
        slots, values = slots_from_csr(transform, num_slots)
        device = self.values.device
        self.anchors = nn.Parameter(anchors.to(device).clone())
        self.values = nn.Parameter(torch.from_numpy(values).to(device))
        self.slots = torch.from_numpy(slots).to(device)
        self.num_active = len(anchors)
        self.exempt = self._related = None

    @classmethod
    def from_codes(
        cls,
        anchors: Float[np.ndarray, "K D"],
        transform: csr_array,
        *,
        num_slots: int | None = None,
        padding_idx: int | None = None,
        **options: Any,
    ) -> Self:
        """Return the table T·A of given anchors and a given T (V, K) ≥ 0."""
        codes = csr_array(transform, dtype=np.float32)
        codes.eliminate_zeros()
        if codes.shape[1] != len(anchors):
            raise ValueError(f"transform must have {len(anchors)} columns, one per anchor, got {codes.shape[1]}")
        if codes.nnz and not (np.isfinite(codes.data).all() and codes.data.min() >= 0):
            raise ValueError(f"transform must be finite and >= 0, got {codes.data.min()}")
        fullest = max(1, int(np.diff(codes.indptr).max(initial=0)))
        table = cls(
            codes.shape[0],
            anchors.shape[1],
            len(anchors),
            num_slots=num_slots or fullest,
            padding_idx=padding_idx,
            **options,
        )
        table._hold(torch.from_numpy(np.asarray(anchors, dtype=np.float32)), codes, table.num_slots)
        return table

    @classmethod
    def from_pretrained(
        cls,
        weight: Float[Tensor, "V D"],
        num_anchors: int | None = None,
        *,
        ratio: float | None = None,
        num_slots: int | None = None,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
        **options: Any,
    ) -> Self:
        """Return the table whose T·A is close to `weight`: sparse non-negative coding, alternating with anchors."""
        table = check_pretrained(weight)
        size = anchor_size(len(table), table.shape[1], num_anchors, ratio, num_slots)
        anchors, codes = fit_codes(table.cpu().numpy(), size.num_anchors, size.num_slots, random_state=random_state)
        if padding_idx is not None:
            codes = without_row(codes, padding_idx)
        return cls.from_codes(anchors, codes, num_slots=size.num_slots, padding_idx=padding_idx, **options)

    @classmethod
    def from_embedding(cls, embedding: nn.Embedding, num_anchors: int | None = None, **options: Any) -> Self:
        """Return the table close to an `nn.Embedding`, with its padding; options as in `from_pretrained`."""
        options.setdefault("padding_idx", embedding.padding_idx)
        return cls.from_pretrained(embedding.weight, num_anchors, **options).to(embedding.weight.device)

    def extra_repr(self) -> str:
        """Return what `print(model)` shows."""
        return (
            f"{self.num_embeddings}, {self.embedding_dim}, num_anchors={self.num_anchors}, num_slots={self.num_slots}"
        )


def _random_start(
    num_rows: int, size: AnchorSize, embedding_dim: int, generator: np.random.Generator
) -> tuple[Float[np.ndarray, "V S"], Float[np.ndarray, "K D"]]:
    """Return T ~ |N(0, 2/S)| and A ~ N(0, σ²/2), so that vectors start with the variance σ² of every table's.

    E[(Σ_s t_s a_s)²] = S · E[t²] · Var(a) = S · (2/S) · σ²/2.
    """
    values = np.abs(generator.standard_normal((num_rows, size.num_slots), dtype=np.float32))
    values *= np.float32(np.sqrt(2 / size.num_slots))
    anchors = generator.standard_normal((size.num_anchors, embedding_dim), dtype=np.float32)
    return values, anchors * np.float32(INITIAL_STD * np.sqrt(0.5))
