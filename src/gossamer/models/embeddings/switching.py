"""Anchors that are switched off and on during training, for tables under a gradient and for the closed-form solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gossamer.core.checks import check_int
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.ratings.als_side import Side
from gossamer.models.embeddings.ratings.als_step import AnchorSweep
from gossamer.models.embeddings.sparse_rows import fit_codes, free_slots


class SwitchedTable:
    """The anchors of an `AnchorEmbedding` under an optimiser: the first `num_active` are used.

    The table is made with as many anchors as there may ever be. Nothing touches one that is off: it gets no gradient
    (the table's own doing), no threshold, and no momentum of earlier gradients. One that is used for the first time
    begins without members, so that the model is the same as before, and its gradient finds them.
    """

    def __init__(self, table: AnchorEmbedding, num_active: int) -> None:
        self.table = table
        with torch.no_grad():
            table.values.masked_fill_(table.slots >= num_active, 0.0)
        self.switch(num_active)

    @property
    def num_active(self) -> int:
        """How many anchors are in use."""
        return self.table.num_active

    def nnz(self) -> int:
        """Return the number of entries of T in use."""
        return self.table.nnz()

    @torch.no_grad()
    def switch(self, number: int) -> None:
        """Use the first `number` anchors."""
        table, optimiser = self.table, self.table.optimiser
        check_int("number of anchors", number, at_least=1, at_most=table.num_anchors)
        table.catch_up()
        changed = table.slots >= min(number, table.num_active)
        table.num_active = number
        rows = np.repeat(np.arange(table.num_embeddings), table.num_slots)
        related = table.is_related(rows, table.slots.cpu().numpy().ravel()).reshape(table.slots.shape)
        table.exempt = torch.from_numpy(related).to(table.slots.device) | (table.slots >= number)
        if optimiser is None:
            return
        for group in optimiser.param_groups:
            if any(parameter is table.values for parameter in group["params"]):
                group["exempt"] = table.exempt
        optimiser.forget_entries(table.values, *changed.nonzero(as_tuple=True))
        off = torch.arange(table.num_anchors, device=table.slots.device).unsqueeze(1) >= number
        off = off.expand(table.num_anchors, table.embedding_dim)
        optimiser.forget_entries(table.anchors, *off.nonzero(as_tuple=True))

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: the table's own state says which anchors are on."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Do nothing, see `state_dict`."""


class SwitchedSide:
    """The anchors of the users or the items of an `AnchorSweep`, which codes every row anew in each sweep.

    The anchors with the fewest members go first; their vectors wait on a shelf, from which they return. When the shelf
    is empty, new anchors point to where the best vectors without anchors lie from the present ones.
    """

    def __init__(self, sweep: AnchorSweep, side: Side, other: Side, num_slots: int) -> None:
        self.sweep = sweep
        self.side = side
        self.other = other
        self.num_slots = num_slots
        self.shelf = np.zeros((0, side.anchors.shape[1]), dtype=np.float32)  # the last one returns first

    @property
    def num_active(self) -> int:
        """How many anchors are in use."""
        return self.side.num_anchors

    def nnz(self) -> int:
        """Return the number of entries of T."""
        return int(np.count_nonzero(self.side.columns >= 0))

    def switch(self, number: int) -> None:
        """Use `number` anchors."""
        check_int("number of anchors", number, at_least=1)
        if number < self.num_active:
            self._remove(self.num_active - number)
        elif number > self.num_active:
            self._add(number - self.num_active)

    def _remove(self, number: int) -> None:
        side = self.side
        members = np.bincount(side.columns[side.columns >= 0], minlength=side.num_anchors)
        leaving = np.argsort(members, kind="stable")[:number][::-1]
        staying = np.setdiff1d(np.arange(side.num_anchors), leaving)
        self.shelf = np.concatenate([self.shelf, side.anchors[leaving]])
        new_column = np.full(side.num_anchors + 1, -1, dtype=np.int32)  # the last for slots that are free, column -1
        new_column[staying] = np.arange(len(staying))
        side.columns = new_column[side.columns]
        side.values = np.where(side.columns >= 0, side.values, np.float32(0))
        side.anchors, side.num_anchors = side.anchors[staying], len(staying)

    def _add(self, number: int) -> None:
        side = self.side
        num_returning = min(number, len(self.shelf))
        returning = self.shelf[len(self.shelf) - num_returning :][::-1]
        self.shelf = self.shelf[: len(self.shelf) - num_returning]
        new = self._missing_directions(number - num_returning) if number > num_returning else self.shelf[:0]
        side.anchors = np.concatenate([side.anchors, returning, new])
        side.num_anchors = len(side.anchors)
        wider = min(self.num_slots, side.num_anchors) - side.columns.shape[1]
        if wider > 0:
            columns, values = free_slots(len(side.columns), wider)
            side.columns = np.concatenate([side.columns, columns], axis=1)
            side.values = np.concatenate([side.values, values], axis=1)

    def _missing_directions(self, number: int) -> np.ndarray:
        """Return the directions in which rows with many ratings are farthest from where they would be freely."""
        grams, rights = self.side.equations(self.other, self.sweep.noise)
        free = np.linalg.solve(grams, rights[:, :, None])[:, :, 0]
        certainty = np.sqrt(np.trace(grams, axis1=1, axis2=2))
        missing = (free - self.side.vectors) * certainty[:, None]
        seed = self.sweep.random_state + self.sweep.num_sweeps
        return fit_codes(missing, number, 1, sweeps=4, random_state=seed)[0]

    def state_dict(self) -> dict[str, Any]:
        """Return the shelf, and how many anchors and slots the sweep's state has."""
        return {
            "shelf": torch.from_numpy(self.shelf),
            "num_anchors": self.side.num_anchors,
            "num_slots": self.side.columns.shape[1],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take the shelf back and give the side the shapes that the sweep's state will fill."""
        side = self.side
        self.shelf = state["shelf"].numpy().copy()
        side.num_anchors = state["num_anchors"]
        side.anchors = np.zeros((side.num_anchors, side.anchors.shape[1]), dtype=np.float32)
        side.columns, side.values = free_slots(len(side.columns), state["num_slots"])
