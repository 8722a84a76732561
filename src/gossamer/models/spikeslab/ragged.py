"""Sentences of unequal length in one batch without padding: packed step by step, sentences of like length together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from gossamer.core.randomness import RandomState, derive_seed
from gossamer.data.batching import Batches
from gossamer.data.sentences import Sentences

BATCHES_PER_POOL = 50  # within so many batches sentences are sorted by length


class SentenceBatch(NamedTuple):
    """Words of B sentences, longest sentence first: all first words, then all second words, and so on (P in all).

    `tokens` end with the end mark: what the encoder reads and the decoder should say. `previous` begin with the begin
    mark: what the decoder hears. `sentence` says whose word it is, `batch_sizes` how many sentences are that long, and
    `rows` which sentence of the caller's each is.
    """

    tokens: Int[Tensor, " P"]
    previous: Int[Tensor, " P"]
    sentence: Int[Tensor, " P"]
    batch_sizes: Int[Tensor, " T"]
    rows: Int[Tensor, " B"]

    @property
    def num_sentences(self) -> int:
        """Return B."""
        return len(self.rows)


def pack_sentences(data: Sentences, rows: Int[np.ndarray, " B"], max_length: int) -> SentenceBatch:
    """Return sentences as one batch, cut after `max_length` words; V is the end mark and V + 1 the begin mark.

    >>> from gossamer.data.text import build_sentences
    >>> batch = pack_sentences(build_sentences(["a", "a b"], unknown=None), np.array([0, 1]), 9)
    >>> batch.tokens.tolist(), batch.batch_sizes.tolist(), batch.rows.tolist()
    ([0, 0, 1, 2, 2], [2, 2, 1], [1, 0])
    """
    end = len(data.vocabulary)
    lengths = np.minimum(data.lengths[rows], max_length)
    order = np.argsort(-lengths, kind="stable")
    chosen, lengths = rows[order], lengths[order]
    columns = np.arange(int(lengths.max(initial=0)) + 1)
    is_word = columns < lengths[:, None]
    padded = np.full(is_word.shape, end, dtype=np.int64)
    padded[is_word] = data.tokens[(data.offsets[chosen][:, None] + columns)[is_word]]
    previous = np.concatenate([np.full((len(rows), 1), end + 1), padded[:, :-1]], axis=1)
    is_read = (columns <= lengths[:, None]).T  # time first, as a recurrent network goes
    sentence = np.broadcast_to(np.arange(len(rows)), is_read.shape)
    return SentenceBatch(
        torch.from_numpy(padded.T[is_read]),
        torch.from_numpy(previous.T[is_read]),
        torch.from_numpy(sentence[is_read]),
        torch.from_numpy(is_read.sum(axis=1)),
        torch.from_numpy(chosen.astype(np.int64)),
    )


class LengthBatches(Batches[SentenceBatch]):
    """Batches of sentences of about the same length, in an order that depends on seed and epoch only.

    Sentences are shuffled, then sorted by length within pools of `BATCHES_PER_POOL` batches, and whole batches are
    shuffled again: neighbours are of like length, but not always the same ones.
    """

    def __init__(
        self,
        collate: Callable[[Int64[np.ndarray, " B"]], SentenceBatch],
        lengths: Int[np.ndarray, " N"],
        batch_size: int,
        *,
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(collate, len(lengths), batch_size, random_state=random_state)
        self.lengths = lengths

    def _order(self, epoch: int) -> Int64[np.ndarray, " num_examples"]:
        shuffled = super()._order(epoch)
        pool = BATCHES_PER_POOL * self.batch_size
        pools = [shuffled[begin : begin + pool] for begin in range(0, len(shuffled), pool)]
        ordered = np.concatenate([part[np.argsort(self.lengths[part], kind="stable")] for part in pools])
        whole = len(ordered) - len(ordered) % self.batch_size
        batches = ordered[:whole].reshape(-1, self.batch_size)
        rng = np.random.default_rng(derive_seed(self.seed, "batches", epoch))
        # What does not fill a batch stays last: the loop counts on it.
        return np.concatenate([batches[rng.permutation(len(batches))].ravel(), ordered[whole:]])


def padding_share(lengths: Int[np.ndarray, " N"], batch_size: int) -> float:
    """Return which share of all words would be padding if batches were taken in this order and filled up.

    >>> padding_share(np.array([1, 3, 2, 2]), 2)
    0.2
    """
    filled = sum(
        int(lengths[begin : begin + batch_size].max()) * len(lengths[begin : begin + batch_size])
        for begin in range(0, len(lengths), batch_size)
    )
    return (filled - int(lengths.sum())) / filled if filled else 0.0
