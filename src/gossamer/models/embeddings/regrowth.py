"""Regrowth: how new nonzeros appear in T while it is trained.

An entry that a proximal step has set to zero leaves its slot free. At zero, an anchor k is worth having in row i when
the loss falls faster along it than the penalty rises, −⟨∂L/∂e_i, a_k⟩ > l1: otherwise zero is optimal (the KKT
condition of eq (1)). Every `every` updates, each row of the batch that has a free slot gives it to the anchor that
violates this most, at weight zero and with fresh moments; the next gradients then grow it or leave it free. Cost and
memory are (rows of the batch) × K in such an update, nothing in others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gossamer.core.checks import check_int

if TYPE_CHECKING:
    from gossamer.models.embeddings.anchor import AnchorEmbedding
    from gossamer.training.proximal import ProximalOptimiser

ROWS_PER_REGROWTH = 1024  # bounds rows × K; a tied output layer touches every row
ROWS_PER_BLOCK = 256


class Regrowth:
    """Gives the free slots of an `AnchorEmbedding` to the anchors its gradients ask for, every `every` updates.

    With several processes it stays off: each would regrow by its own rows, and their tables would differ.
    """

    def __init__(self, table: AnchorEmbedding, optimiser: ProximalOptimiser, l1: float, every: int) -> None:
        self.table = table
        self.optimiser = optimiser
        self.l1 = l1
        self.every = check_int("regrow_every", every, at_least=1)
        self._ids: list[Tensor] = []
        self._gradients: list[Tensor] = []

    @property
    def listens(self) -> bool:
        """Whether the update under way is one after which slots are given away."""
        is_alone = not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1
        return is_alone and (self.table.num_updates + 1) % self.every == 0

    def hook(self, ids: Int[Tensor, " B"]) -> Callable[[Tensor], None]:
        """Return a tensor hook that notes the gradient of the vectors of `ids`."""
        return lambda gradient: self.note(ids, gradient)

    def note(self, ids: Int[Tensor, " B"], gradient: Float[Tensor, "B D"]) -> None:
        """Remember ∂L/∂e_i of these rows until the update is made."""
        self._ids.append(ids)
        self._gradients.append(gradient.detach())

    def after_update(self) -> None:
        """Count the update, and regrow from its notes."""
        self.table.num_updates += 1
        if not self._ids:
            return
        ids, positions = torch.unique(torch.cat(self._ids), return_inverse=True)
        gradients = torch.cat(self._gradients)
        self._ids, self._gradients = [], []
        self.regrow(ids, gradients.new_zeros(len(ids), gradients.shape[1]).index_add_(0, positions, gradients))

    @torch.no_grad()
    def regrow(self, ids: Int[Tensor, " n"], gradients: Float[Tensor, "n D"]) -> int:
        """Reassign at most one free slot per row, and return how many were."""
        table = self.table
        table.catch_up(ids)
        free = table.values[ids] == 0
        if table.exempt is not None:
            free &= ~table.exempt[ids]
        chosen = free.any(dim=1).nonzero().squeeze(1)
        if len(chosen) > ROWS_PER_REGROWTH:
            # Those that the loss pulls hardest; the others have their turn when they are pulled harder.
            chosen = chosen[gradients[chosen].square().sum(dim=1).topk(ROWS_PER_REGROWTH).indices]
        ids, gradients, free = ids[chosen], gradients[chosen], free[chosen]
        gain, anchor = self._best_anchors(gradients, table.slots[ids].long())
        wanted = gain > self.l1
        rows, anchors = ids[wanted], anchor[wanted]
        places = free[wanted].to(torch.int8).argmax(dim=1)
        table.slots[rows, places] = anchors.to(table.slots.dtype)
        self.optimiser.forget_entries(table.values, rows, places)
        if table.exempt is not None:
            related = table.is_related(rows.cpu().numpy(), anchors.cpu().numpy())
            table.exempt[rows, places] = torch.from_numpy(related).to(table.exempt.device)
        return len(rows)

    def _best_anchors(self, gradients: Float[Tensor, "n D"], present: Int[Tensor, "n S"]) -> tuple[Tensor, Tensor]:
        """Return each row's largest −⟨∂L/∂e_i, a_k⟩ over active anchors it has no slot for, and that anchor."""
        table = self.table
        directions = -table.anchors[: table.num_active].T
        best = []
        # Blocks of rows keep the gains in the cache.
        for some, taken in zip(
            torch.split(gradients, ROWS_PER_BLOCK), torch.split(present, ROWS_PER_BLOCK), strict=True
        ):
            gains = some @ directions
            # An anchor that has a slot in the row, be it at zero, already gets its gradient there.
            if table.num_active < table.num_anchors:
                gains = functional.pad(gains, (0, table.num_anchors - table.num_active))
            best.append(gains.scatter_(1, taken, -torch.inf).max(dim=1))
        return torch.cat([values for values, _ in best]), torch.cat([anchors for _, anchors in best])
