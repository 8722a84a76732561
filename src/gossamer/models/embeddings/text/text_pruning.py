"""Prune T to a budget while it is trained: objective (7) with its ℓ₀ norm bounded instead of charged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from gossamer.core.checks import check_int
from gossamer.models.embeddings.anchor import AnchorEmbedding

if TYPE_CHECKING:
    from gossamer.training.proximal import ProximalOptimiser

BEGIN, END = 0.2, 0.7  # of the updates: before, T is free; afterwards, what is left adapts
ROUNDS = 10


class Pruning(nn.Module):
    """Keeps the entries of T that move vectors most, weighted by how often a word occurs, and holds the rest at zero.

    Entry (i, s) is worth n_i^½ · t_is · ‖a_s‖: the root of its share in Σ_i n_i ‖e_i‖². From `BEGIN` to `END` of
    `num_updates` the number kept falls to `num_entries` by the cubic schedule of Zhu and Gupta (2018), in `ROUNDS`.
    It acts after each step of the optimiser; its state, which a checkpoint needs, is in its buffers.
    """

    kept: Tensor
    done: Tensor
    importance: Tensor

    def __init__(
        self,
        table: AnchorEmbedding,
        counts: Float[np.ndarray, " V"] | Int[np.ndarray, " V"],
        *,
        num_entries: int,
        num_updates: int,
    ) -> None:
        super().__init__()
        self.num_entries = check_int("num_entries", num_entries, at_least=1)
        check_int("num_updates", num_updates, at_least=1)
        self._table = (table,)  # in a tuple, because it is a part of the network and not of this module
        self.register_buffer("kept", torch.ones(table.values.shape, dtype=torch.bool))
        self.register_buffer("done", torch.zeros((), dtype=torch.long))
        self.register_buffer("importance", torch.from_numpy(np.sqrt(counts)).float().unsqueeze(1), persistent=False)
        span = (END - BEGIN) / ROUNDS
        self._rounds = {round(num_updates * (BEGIN + span * number)): number for number in range(1, ROUNDS + 1)}

    def attach(self, optimiser: ProximalOptimiser) -> None:
        """Act after every step of `optimiser`; regrowth ends, because entries that are pruned stay so."""
        self._table[0].regrowth = None
        optimiser.register_step_post_hook(self._after_step)

    @torch.no_grad()
    def _after_step(self, *_: Any) -> None:
        self.done += 1
        number = self._rounds.get(int(self.done))
        if number is not None:
            surplus = max(self.kept.numel() - self.num_entries, 0)
            self._keep(self.num_entries + round((1 - number / ROUNDS) ** 3 * surplus))
        self._table[0].values.mul_(self.kept)

    def _keep(self, num_entries: int) -> None:
        table = self._table[0]
        table.catch_up()
        worth = self.importance * table.values * table.anchors.norm(dim=1)[table.slots.long()]
        if num_entries < worth.numel():
            least = worth.flatten().kthvalue(worth.numel() - num_entries).values
            self.kept &= worth > least
