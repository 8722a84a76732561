"""What stands where modules that shared a table stood: a tied output layer, and a bag."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.embeddings.table import EmbeddingTable


class TiedLinear(nn.Module):
    """`nn.Linear` whose weight is a table's E: hidden · Eᵀ + bias, by the table's own `logits`."""

    bias: nn.Parameter | None

    def __init__(self, table: EmbeddingTable, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.table = table
        self.register_parameter("bias", bias)

    @property
    def in_features(self) -> int:
        """D, by `nn.Linear`'s name."""
        return self.table.embedding_dim

    @property
    def out_features(self) -> int:
        """V, by `nn.Linear`'s name."""
        return self.table.num_embeddings

    @property
    def weight(self) -> Float[Tensor, "V D"]:
        """The table's vectors, made on demand and detached from training."""
        return self.table.weight

    def forward(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return the scores of all V ids."""
        scores = self.table.logits(hidden)
        return scores if self.bias is None else scores + self.bias


class TableBag(nn.Module):
    """`nn.EmbeddingBag` over a table: sums or means of the vectors of bags of ids; `padding_idx` counts for nothing."""

    def __init__(
        self,
        table: EmbeddingTable,
        *,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        if mode not in ("sum", "mean"):
            raise ValueError(f"mode must be 'sum' or 'mean', got {mode!r}")
        self.table = table
        self.mode = mode
        self.include_last_offset = include_last_offset
        self.padding_idx = padding_idx

    @property
    def weight(self) -> Float[Tensor, "V D"]:
        """The table's vectors, made on demand and detached from training."""
        return self.table.weight

    def forward(
        self,
        input: Int[Tensor, ...],
        offsets: Int[Tensor, " N"] | None = None,
        per_sample_weights: Float[Tensor, ...] | None = None,
    ) -> Float[Tensor, "N D"]:
        """Return one vector per bag: a row of `input` (N, L), or input[offsets[n] : offsets[n + 1]] of a flat one."""
        if (input.dim() == 2) != (offsets is None):
            shape = tuple(input.shape)
            raise ValueError(f"offsets must be given where input is one-dimensional and only there, got shape {shape}")
        if per_sample_weights is not None and self.mode != "sum":
            raise ValueError("per_sample_weights must be None where mode is 'mean', as in nn.EmbeddingBag")
        if offsets is None:
            offsets = torch.arange(len(input), device=input.device) * input.shape[1]
        elif self.include_last_offset:
            offsets = offsets[:-1]
        ids = input.reshape(-1)
        weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
        if self.padding_idx is not None:
            kept = ids != self.padding_idx
            offsets = functional.pad(kept.cumsum(0), (1, 0))[offsets]
            ids, weights = ids[kept], None if weights is None else weights[kept]
        sums = self.table.bag(ids, offsets, weights)
        if self.mode == "sum":
            return sums
        sizes = torch.diff(offsets, append=offsets.new_tensor([len(ids)]))
        return sums / sizes.clamp(min=1).unsqueeze(1)


def has_hooks(module: nn.Module) -> bool:
    """Say whether anything is called before or after this module's forward or backward."""
    return any(getattr(module, name) for name in _HOOKS)


def take_hooks(taker: nn.Module, giver: nn.Module) -> None:
    """Let `taker` call the hooks of `giver`: the same dicts, so that handles of these hooks still remove them."""
    if has_hooks(giver):
        for name in _HOOKS:
            setattr(taker, name, getattr(giver, name))


_HOOKS = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
)
