"""What a language model over a compressed table reads, whole or a share of it, and its loss with a penalty."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor, nn

from gossamer.models.embeddings.text.text_pruning import Pruning
from gossamer.models.embeddings.text.text_tables import table_of
from gossamer.networks.sampled_softmax import NegativeSampler
from gossamer.networks.word_streams import LaneBatches, Lanes, StreamLoss

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing


class ShareLaneBatches(LaneBatches):
    """Pieces of a text of which every process holds a share, in lanes of its own; all make as many pieces.

    `shapes` are the numbers of lanes and their lengths on each process. The longest lanes are cut into as few equal
    pieces of at most `num_steps` as will do, all others into as many: every token comes once in an epoch, and no
    process waits for another. The weights make the loss of a piece the mean over the tokens of all processes.

    >>> batches = ShareLaneBatches(Lanes.of(np.array([5, 6, 7]), 1, start=0), np.array([[1, 3], [2, 4]]), num_steps=2)
    >>> [(tokens.tolist(), round(weight, 2)) for (tokens, _), weight in batches.epoch(0, rank=0, world_size=2)]
    [([[0, 5]], 0.4), ([[5, 6, 7]], 0.67)]
    """

    def __init__(self, lanes: Lanes, shapes: Int[np.ndarray, "W 2"], num_steps: int) -> None:
        super().__init__(lanes, num_steps)
        self.shapes = shapes
        self.num_examples = -(-int(shapes[:, 1].max()) // num_steps)
        if shapes[:, 1].min() < self.num_examples:
            raise ValueError(
                f"shares must have lanes of at least {self.num_examples} tokens, one for each piece, got lanes of "
                f"{shapes[:, 1].tolist()} tokens on the processes"
            )

    def description(self) -> dict[str, int | bool]:
        """Return what determines the pieces, the shares as a checksum."""
        return {**super().description(), "shares": zlib.crc32(repr(self.shapes.tolist()).encode())}

    def epoch(
        self, epoch: int, *, rank: int = 0, world_size: int = 1, start: int = 0
    ) -> Iterator[tuple[tuple[Tensor, bool], float]]:
        """Yield (piece of this process's lanes, weight) from piece `start` on; see `Batches`."""
        del epoch
        for number in range(start, self.num_examples):
            bounds = np.array([number, number + 1])[:, None] * self.shapes[:, 1] // self.num_examples
            num_tokens = self.shapes[:, 0] * (bounds[1] - bounds[0])
            begin, end = bounds[:, rank].tolist()
            weight = float(num_tokens[rank] * world_size / num_tokens.sum())
            yield (self.lanes.tokens[:, begin : end + 1], number == 0), weight


def lane_batches(
    stream: Int[np.ndarray, " n"], num_lanes: int, num_steps: int, *, start: int, sharing: Sharing
) -> LaneBatches:
    """Return the pieces of a text in `num_lanes` lanes; a process with a share has as many of them as its share is.

    Lanes are then about as long on all processes; each has one at least.
    """
    if not sharing.is_divided:
        return LaneBatches(Lanes.of(stream, min(num_lanes, len(stream)), start=start), num_steps)
    share = len(stream) / int(sharing.sum(np.array([len(stream)]))[0])
    lanes = Lanes.of(stream, min(max(1, round(num_lanes * share)), len(stream)), start=start)
    num_own, width = lanes.tokens.shape
    return ShareLaneBatches(lanes, sharing.gather(np.array([[num_own, width - 1]])), num_steps)


class TableStreamLoss(StreamLoss):
    """`StreamLoss` with the table's own penalty, meant for the sum over an epoch, and the state of its `pruning`."""

    def __init__(
        self,
        network: nn.Module,
        *,
        num_lanes: int,
        num_tokens: int,
        sampler: NegativeSampler | None = None,
        pruning: Pruning | None = None,
    ) -> None:
        super().__init__(network, num_lanes=num_lanes, sampler=sampler)
        self.pruning = pruning
        self.num_tokens = num_tokens

    def penalty(self) -> Float[Tensor, ""] | float:
        """Return the table's share of its penalty, and what the network adds."""
        return table_of(self.network).penalty() / self.num_tokens + super().penalty()
