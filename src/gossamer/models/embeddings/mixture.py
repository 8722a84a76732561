"""Mixtures of anchor sets (appendix E): E = Σ_m softmax(T_m)·A_m, with every T_m kept sparse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.anchor_size import without_row
from gossamer.models.embeddings.packing import pack_transform
from gossamer.models.embeddings.rivals.clusters import kmeans, nearest_centres
from gossamer.models.embeddings.sizing import INITIAL_STD
from gossamer.models.embeddings.sparse_rows import fit_codes
from gossamer.models.embeddings.table import ROWS_AT_ONCE, EmbeddingTable, check_pretrained
from gossamer.models.embeddings.tied_logits import combine_anchors

COMBINATIONS = ("softmax", "linear")


class AnchorMixture(EmbeddingTable):
    """M sets of anchors, each with a sparse T_m of its own, whose vectors are added.

    "softmax" combines each set by softmax(T_m) over all its K_m anchors, where an entry that is not stored counts as
    t = 0; see `softmax_rows`. A row without nonzeros embeds to the mean of each set, not to zeros. "linear" is
    Σ_m T_m·A_m, which one `AnchorEmbedding` with all anchors can express too.

    `num_anchors` is the size of every set, or one size per set; `ratio` is that of all sets together, and is divided
    equally. The sets are `parts`, ordinary tables: `initialise_anchors(mixture.parts[0], …)` starts each in its way,
    `make_optimiser` finds them.

    >>> mixture = AnchorMixture(100, 16, num_anchors=[5, 8])
    >>> mixture(torch.tensor([[3, 4]])).shape, len(mixture.parts)
    (torch.Size([1, 2, 16]), 2)
    """

    method: ClassVar[str] = "ant-mixture"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        num_anchors: int | Sequence[int] | None = None,
        *,
        num_parts: int | None = None,
        ratio: float | None = None,
        num_slots: int | Sequence[int] | None = None,
        combination: str = "softmax",
        padding_idx: int | None = None,
        sparse: bool = True,
        orthogonality: float = 0.0,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        self.combination = check_choice("combination", combination, COMBINATIONS)
        generator = numpy_generator(random_state)
        self.parts = nn.ModuleList(
            AnchorEmbedding(
                num_embeddings,
                embedding_dim,
                padding_idx=padding_idx,
                sparse=sparse,
                orthogonality=orthogonality,
                random_state=generator,
                **size,
            )
            for size in _size_of_parts(num_anchors, num_parts, ratio, num_slots)
        )
        self._start()

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the sum over sets of the combination of each."""
        return torch.stack([self._rows_of(part, ids) for part in self._tables()]).sum(dim=0)

    def penalty(self) -> Float[Tensor, ""]:
        """Return the orthogonality penalties of all sets."""
        return torch.stack([part.penalty() for part in self._tables()]).sum()

    def finish(self) -> None:
        """End the training of every set."""
        for part in self._tables():
            part.finish()

    def nnz(self) -> int:
        """Return the number of nonzeros in all T_m."""
        return sum(part.nnz() for part in self._tables())

    def config(self) -> dict[str, Any]:
        """Return the arguments that give these shapes."""
        parts = [part.config() for part in self._tables()]
        return {
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "num_anchors": [part["num_anchors"] for part in parts],
            "num_slots": [part["num_slots"] for part in parts],
            "combination": self.combination,
            "padding_idx": self.padding_idx,
            "sparse": parts[0]["sparse"],
            "orthogonality": parts[0]["orthogonality"],
        }

    def stored(self) -> dict[str, np.ndarray]:
        """Return the arrays of every set, as `0.anchors`, `0.values`, …"""
        return {
            f"{number}.{name}": array
            for number, part in enumerate(self._tables())
            for name, array in part.stored().items()
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take back `stored()`, checked."""
        expected = set(self.stored())
        if set(arrays) != expected:
            raise ValueError(f"arrays must be {sorted(expected)}, got {sorted(arrays)}")
        for number, part in enumerate(self._tables()):
            start = f"{number}."
            part.restore({name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)})

    @classmethod
    def from_pretrained(
        cls,
        weight: Float[Tensor, "V D"],
        num_anchors: int | Sequence[int] | None = None,
        *,
        padding_idx: int | None = None,
        random_state: RandomState = 0,
        **options: Any,
    ) -> Self:
        """Return sets that approximate `weight` one after the other, each what the ones before have left.

        With softmax a set is a codebook of k-means (residual vector quantisation), reproduced exactly by one nonzero
        per row; with the linear combination it is `AnchorEmbedding.from_pretrained`.
        """
        table = check_pretrained(weight)
        generator = numpy_generator(random_state)
        num_rows, embedding_dim = table.shape
        mixture = cls(num_rows, embedding_dim, num_anchors, padding_idx=padding_idx, random_state=generator, **options)
        residual = table.cpu()
        for part in mixture._tables():
            if mixture.combination == "softmax":
                anchors, codes = quantise_rows(residual.numpy(), part.num_anchors, generator)
            else:
                anchors, codes = fit_codes(residual.numpy(), part.num_anchors, part.num_slots, random_state=generator)
            if padding_idx is not None:
                codes = without_row(codes, padding_idx)
            part.restore({"anchors": anchors, **pack_transform(codes)})
            with torch.no_grad():
                blocks = torch.split(torch.arange(num_rows), ROWS_AT_ONCE)
                residual = residual - torch.cat([mixture._rows_of(part, block) for block in blocks])
        return mixture

    @torch.no_grad()
    def _start(self) -> None:
        """Bring new sets to where learning is easy: softmax weights that differ, vectors of the size of other tables'.

        With t = log(1 + K w/Σw) the slots of a row have half of its softmax weight, in proportion to their first w.
        """
        if self.combination == "softmax":
            for part in self._tables():
                total = part.values.sum(dim=1, keepdim=True).clamp_(min=torch.finfo(torch.float32).tiny)
                part.values.copy_(torch.log1p(part.num_anchors * part.values / total))
        step = max(1, self.num_embeddings // ROWS_AT_ONCE)
        size = self(torch.arange(0, self.num_embeddings, step)).square().mean().sqrt().clamp_(min=1e-12)
        for part in self._tables():
            part.anchors.mul_(INITIAL_STD / size)

    def _rows_of(self, part: AnchorEmbedding, ids: Tensor) -> Tensor:
        return softmax_rows(part, ids) if self.combination == "softmax" else part.rows(ids)

    def _tables(self) -> list[AnchorEmbedding]:
        return [part for part in self.parts if isinstance(part, AnchorEmbedding)]


def softmax_rows(part: AnchorEmbedding, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
    """Return rows of softmax(T)·A from the nonzeros of T alone (figure 5).

    Every anchor that is not stored has exp(0) = 1, so the row is (Σ_k a_k + Σ_s (e^{t_s} − 1) a_s) / (K + Σ_s (e^{t_s}
    − 1)); the sum over all K anchors is the same for all rows. Computed with e^{−max t} in front of everything.
    """
    part.catch_up(ids)
    slots = part.slots.index_select(0, ids)
    values = functional.embedding(ids, part.values, sparse=part.sparse)
    largest = values.detach().amax(dim=1, keepdim=True).clamp_(min=0)
    implicit = torch.exp(-largest)
    extra = torch.exp(values - largest) - implicit
    total = implicit * part.num_anchors + extra.sum(dim=1, keepdim=True)
    vectors = (combine_anchors(slots, extra, part.anchors) + implicit * part.anchors.sum(dim=0)) / total
    if part.regrowth is not None and part.regrowth.listens and vectors.requires_grad:
        # At t_k = 0 the loss changes by ⟨g, a_k − e⟩ · scale; which anchor is best does not depend on e.
        note, scale = part.regrowth.note, (implicit / total).detach()
        vectors.register_hook(lambda gradient: note(ids, gradient * scale))  # type: ignore[no-untyped-call]
    return vectors


def quantise_rows(
    weight: Float[np.ndarray, "V D"], num_anchors: int, random_state: RandomState
) -> tuple[Float[np.ndarray, "K D"], csr_array]:
    """Return A and T, one nonzero per row, with softmax(T)·A = the centre of each row's k-means cluster.

    All nonzeros are t = log(K + 1). Then the own anchor has softmax weight 1/2 + 1/(2K) and every other one 1/(2K), so
    that a_k = 2·centre_k − mean of the centres gives (mean of all a) / 2 + a_k / 2 = centre_k.
    """
    centres = kmeans(weight, num_anchors, random_state=random_state)
    values = np.full(len(weight), np.log1p(num_anchors), dtype=np.float32)
    labels = nearest_centres(weight, centres)
    codes = csr_array((values, labels, np.arange(len(weight) + 1)), shape=(len(weight), num_anchors))
    return (2 * centres - centres.mean(axis=0)).astype(np.float32), codes


def _size_of_parts(
    num_anchors: int | Sequence[int] | None,
    num_parts: int | None,
    ratio: float | None,
    num_slots: int | Sequence[int] | None,
) -> list[dict[str, Any]]:
    """Return the size arguments of every set's table."""
    several = [size for size in (num_anchors, num_slots) if isinstance(size, Sequence)]
    lengths = {len(sizes) for sizes in several} | ({num_parts} if num_parts is not None else set())
    if len(lengths) > 1:
        raise ValueError(f"num_parts must be one number for all sizes, got {sorted(lengths)}")
    count = check_int("num_parts", lengths.pop() if lengths else 2, at_least=1)
    anchors = list(num_anchors) if isinstance(num_anchors, Sequence) else [num_anchors] * count
    slots = list(num_slots) if isinstance(num_slots, Sequence) else [num_slots] * count
    share = None if ratio is None else check_real("ratio", ratio, at_least=1) * count
    return [
        {"num_anchors": number, "num_slots": places, "ratio": share}
        for number, places in zip(anchors, slots, strict=True)
    ]
