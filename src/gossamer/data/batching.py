"""Minibatches whose order is a function of seed and epoch, so that training can stop and go on anywhere."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Int64

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, derive_seed, numpy_generator

B = TypeVar("B")


class Batches(Generic[B]):
    """Deterministic minibatches of any container: `collate` turns example indices into a batch.

    The permutation of an epoch depends only on (random_state, epoch), so a loop may enter an epoch at any batch
    without replaying what came before. With W processes, batch k of all processes together is
    `permutation[k*W*batch_size : (k+1)*W*batch_size]` and process r takes every W-th row of it.

    >>> batches = Batches(lambda rows: rows.tolist(), 5, 2, shuffle=False)
    >>> print([batch for batch, weight in batches.epoch(0)])
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        collate: Callable[[Int64[np.ndarray, " B"]], B],
        num_examples: int,
        batch_size: int,
        *,
        shuffle: bool = True,
        random_state: RandomState = 0,
    ) -> None:
        self.collate = collate
        self.num_examples = check_int("num_examples", num_examples, at_least=1)
        self.batch_size = check_int("batch_size", batch_size, at_least=1)
        self.shuffle = shuffle
        generator = numpy_generator(random_state)
        is_seed = random_state is not None and not isinstance(random_state, np.random.Generator)
        self.seed = int(random_state) if is_seed else int(generator.integers(2**63))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.count(world_size=1)

    def count(self, world_size: int) -> int:
        """Return the number of batches per epoch when `world_size` processes share each of them."""
        return -(-self.num_examples // (self.batch_size * world_size))

    def num_rows(self, index: int, world_size: int) -> int:
        """Return how many examples batch `index` has, all processes together."""
        whole = self.batch_size * world_size
        return max(0, min(whole, self.num_examples - index * whole))

    def description(self) -> dict[str, int | bool]:
        """Return what determines the order of examples; two runs with equal descriptions see equal batches."""
        return {
            "num_examples": self.num_examples,
            "batch_size": self.batch_size,
            "shuffle": self.shuffle,
            "seed": self.seed,
        }

    def epoch(self, epoch: int, *, rank: int = 0, world_size: int = 1, start: int = 0) -> Iterator[tuple[B, float]]:
        """Yield (batch, weight) from batch `start` on.

        The weight is local_rows · world_size / global_rows: a mean loss times this weight, averaged over processes,
        is the mean over the global batch. A process without rows repeats one row with weight 0, because it must
        still take part in the averaging.
        """
        check_int("epoch", epoch, at_least=0)
        check_int("world_size", world_size, at_least=1)
        check_int("rank", rank, at_least=0, at_most=world_size - 1)
        check_int("start", start, at_least=0)
        order = self._order(epoch)
        whole = self.batch_size * world_size
        for begin in range(start * whole, self.num_examples, whole):
            together = order[begin : begin + whole]
            rows = together[rank::world_size]
            weight = len(rows) * world_size / len(together)
            yield self.collate(rows if len(rows) else together[:1]), weight

    def _order(self, epoch: int) -> Int64[np.ndarray, " num_examples"]:
        if not self.shuffle:
            return np.arange(self.num_examples)
        return np.random.default_rng(derive_seed(self.seed, "epoch", epoch)).permutation(self.num_examples)


class ShareBatches(Batches[B]):
    """Minibatches of examples that processes have divided among them: process r holds `shares[r]` of them.

    `collate` takes indices into this process's own examples. All processes make the same number of batches, that of
    `Batches` with as many examples. Each permutes its own and spreads them evenly over the batches, so that every
    example comes once in an epoch and no process needs to know another's. A process with a larger share has larger
    batches; the weights make the mean that of all rows of a batch.

    >>> first, second = (ShareBatches(list, [4, 2], 2, shuffle=False).epoch(0, rank=r, world_size=2) for r in (0, 1))
    >>> [([int(row) for row in rows], weight) for rows, weight in first]
    [([0, 1], 1.3333333333333333), ([2, 3], 1.3333333333333333)]
    >>> [([int(row) for row in rows], weight) for rows, weight in second]
    [([0], 0.6666666666666666), ([1], 0.6666666666666666)]
    """

    def __init__(
        self,
        collate: Callable[[Int64[np.ndarray, " B"]], B],
        shares: Sequence[int],
        batch_size: int,
        *,
        shuffle: bool = True,
        random_state: RandomState = 0,
    ) -> None:
        if not shares or min(shares) < 1:
            raise ValueError(f"shares must have at least one example for every process, got {list(shares)}")
        super().__init__(collate, sum(shares), batch_size, shuffle=shuffle, random_state=random_state)
        self.shares = tuple(shares)

    def num_rows(self, index: int, world_size: int) -> int:
        """Return how many examples batch `index` has, all processes together."""
        num_batches = self.count(world_size)
        return sum(len(_piece(share, index, num_batches)) for share in self.shares)

    def description(self) -> dict[str, int | bool]:
        """Return what determines the order of examples, the shares as a checksum."""
        return {**super().description(), "shares": zlib.crc32(repr(self.shares).encode())}

    def epoch(self, epoch: int, *, rank: int = 0, world_size: int = 1, start: int = 0) -> Iterator[tuple[B, float]]:
        """Yield (batch, weight) from batch `start` on, as `Batches` does."""
        check_int("epoch", epoch, at_least=0)
        check_int("world_size", world_size, at_least=len(self.shares), at_most=len(self.shares))
        check_int("rank", rank, at_least=0, at_most=world_size - 1)
        check_int("start", start, at_least=0)
        share, num_batches = self.shares[rank], self.count(world_size)
        seed = derive_seed(self.seed, "epoch", epoch, rank)
        order = np.random.default_rng(seed).permutation(share) if self.shuffle else np.arange(share)
        for index in range(start, num_batches):
            piece = _piece(share, index, num_batches)
            rows = order[piece.start : piece.stop]
            weight = len(rows) * world_size / self.num_rows(index, world_size)
            yield self.collate(rows if len(rows) else order[:1]), weight


def _piece(count: int, index: int, num_pieces: int) -> range:
    """Return piece `index` of `count` things in equal pieces, one more or less."""
    return range(index * count // num_pieces, (index + 1) * count // num_pieces)
