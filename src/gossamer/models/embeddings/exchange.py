"""Rows that other processes own: ask for them by id, get them, and send their gradients back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Requests:
    """What one lookup makes every process send and receive; row i of a table belongs to process i mod W.

    `wanted` are this process's different ids, grouped by owner, `place` where each id of the lookup is among them.
    `asked` are the own rows that others want, grouped by who asks.
    """

    place: Int[Tensor, " B"]
    num_wanted: list[int]
    asked: Int[Tensor, " n"]
    num_asked: list[int]

    @classmethod
    def of(cls, ids: Int[Tensor, " B"]) -> Requests:
        """Tell every owner which of its rows are wanted; all processes call this together."""
        world_size = dist.get_world_size()
        # Sorted by owner first: what is sent to one process must lie together.
        keys, place = torch.unique(ids % world_size * _BEYOND + ids // world_size, return_inverse=True)
        owner, rows = keys // _BEYOND, keys % _BEYOND
        num_wanted = torch.bincount(owner, minlength=world_size)
        num_asked = torch.empty_like(num_wanted)
        dist.all_to_all_single(num_asked, num_wanted, group=_own_group(dist.group.WORLD))
        outgoing, incoming = num_wanted.tolist(), num_asked.tolist()
        return cls(place, outgoing, _exchange(rows, outgoing, incoming), incoming)

    def answer(self, rows: Tensor) -> Tensor:
        """Send the asked rows and return the wanted ones."""
        return _exchange(rows, self.num_asked, self.num_wanted)

    def give_back(self, gradient: Tensor) -> Tensor:
        """Send gradients of the wanted rows to their owners and return those of the asked ones."""
        return _exchange(gradient, self.num_wanted, self.num_asked)


_BEYOND = 1 << 40  # more rows than a process can own; times the number of processes it still fits 63 bits


class LookUpShared(torch.autograd.Function):
    """values (rows of this process) → the wanted rows of all, with a row-sparse gradient on their owners.

    Losses are averaged over processes, so the gradient is the sum of what all send, divided by their number: what DDP
    does to dense parameters.
    """

    @staticmethod
    def forward(context: Any, values: Float[Tensor, "R S"], requests: Requests) -> Float[Tensor, "B S"]:
        """Exchange rows."""
        context.requests, context.shape = requests, values.shape
        return requests.answer(values.detach()[requests.asked])[requests.place]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Float[Tensor, "B S"]) -> tuple[Tensor, None]:
        """Send gradients home; a row that several ids or processes have asked for occurs several times."""
        requests: Requests = context.requests
        wanted = gradient.new_zeros(sum(requests.num_wanted), gradient.shape[1])
        wanted.index_add_(0, requests.place, gradient)
        own = requests.give_back(wanted) / dist.get_world_size()
        rows = torch.sparse_coo_tensor(requests.asked.unsqueeze(0), own, context.shape, check_invariants=False)
        return rows, None


def _exchange(rows: Tensor, outgoing: list[int], incoming: list[int]) -> Tensor:
    received = rows.new_empty(sum(incoming), *rows.shape[1:])
    group = _own_group(dist.group.WORLD)
    dist.all_to_all_single(received, rows.contiguous(), incoming, outgoing, group=group)
    return received


@cache
def _own_group(world: Any) -> Any:
    """Return a process group for these exchanges alone: DDP's sums, under way at the same time, have another."""
    del world  # the key: another set of processes has another group
    return dist.new_group()
