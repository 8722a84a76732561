"""A text as one stream of tokens read in parallel lanes, with the network's state carried from piece to piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int
from gossamer.data.batching import Batches
from gossamer.networks.sampled_softmax import NegativeSampler, sampled_softmax_loss

TOKENS_PER_LANE = 5_000  # of a stream that is scored: each lane but the first begins without its past
MOST_LANES = 10
STEPS_AT_ONCE = 128


@dataclass(frozen=True)
class Lanes:
    """A stream cut into B lanes of equal length, each token beside the one before it.

    `tokens` (B, L + 1): column 0 is what stands before a lane's first token, `start` for the first lane. Where the
    stream does not fill the lanes, the last one ends in copies of `start`.

    >>> Lanes.of(np.array([5, 6, 7, 8, 9]), 2, start=0).tokens.tolist()
    [[0, 5, 6, 7], [7, 8, 9, 0]]
    """

    tokens: Int[Tensor, "B L1"]

    @classmethod
    def of(cls, stream: Int[np.ndarray, " n"], num_lanes: int, *, start: int) -> Lanes:
        """Cut a stream of at least one token."""
        check_int("num_lanes", num_lanes, at_least=1)
        length = -(-len(stream) // num_lanes)
        whole = np.full(num_lanes * length + 1, start, dtype=np.int64)
        whole[1 : len(stream) + 1] = stream
        lanes = np.concatenate([whole[:-1].reshape(num_lanes, length), whole[length::length, None]], axis=1)
        return cls(torch.from_numpy(lanes))

    def count(self, num_steps: int) -> int:
        """Return the number of pieces of `num_steps` columns."""
        return -(-(self.tokens.shape[1] - 1) // num_steps)

    def piece(self, number: int, num_steps: int) -> Int[Tensor, "B T1"]:
        """Return a piece and the column before it: inputs are all but the last column, targets all but the first."""
        return self.tokens[:, number * num_steps : (number + 1) * num_steps + 1]


class LaneBatches(Batches[tuple[Tensor, bool]]):
    """The pieces of some lanes in order, each with whether it is the first; processes divide the lanes among them.

    Every process so reads the whole text of its lanes, and the state after a piece is that before the next.
    """

    def __init__(self, lanes: Lanes, num_steps: int) -> None:
        self.lanes = lanes
        self.num_steps = num_steps
        super().__init__(self._piece, lanes.count(num_steps), 1, shuffle=False)

    def _piece(self, rows: Int[np.ndarray, " 1"]) -> tuple[Tensor, bool]:
        return self.lanes.piece(int(rows[0]), self.num_steps), int(rows[0]) == 0

    def count(self, world_size: int) -> int:
        """Return the number of pieces, which is the same for any number of processes."""
        del world_size
        return self.num_examples

    def num_rows(self, index: int, world_size: int) -> int:
        """Return 1, for a piece."""
        del index, world_size
        return 1

    def epoch(
        self, epoch: int, *, rank: int = 0, world_size: int = 1, start: int = 0
    ) -> Iterator[tuple[tuple[Tensor, bool], float]]:
        """Yield (piece of every W-th lane, weight) from piece `start` on; see `Batches`."""
        if world_size == 1:
            yield from super().epoch(epoch, start=start)
            return
        num_lanes = len(self.lanes.tokens)
        own = self.lanes.tokens[rank::world_size]
        weight = len(own) * world_size / num_lanes
        lanes = Lanes(own if len(own) else self.lanes.tokens[:1])
        for number in range(start, self.num_examples):
            yield (lanes.piece(number, self.num_steps), number == 0), weight


class StreamLoss(nn.Module):
    """The loss of one piece after the other; the state between them is kept here, in buffers a checkpoint holds.

    With several processes each has the state of its own lanes, which are as many as the pieces it is given have.

    With a `sampler` the softmax is estimated from words drawn for each piece, otherwise it is the full one. Networks
    with an `activation_penalty` have it added.
    """

    def __init__(self, network: nn.Module, *, num_lanes: int, sampler: NegativeSampler | None = None) -> None:
        super().__init__()
        self.network = network
        self.sampler = sampler
        states = network.new_state(num_lanes)  # type: ignore[operator]
        self.own_tensors = tuple(f"state{number}" for number in range(len(states)))
        for number, state in enumerate(states):
            self.register_buffer(f"state{number}", state)

    def forward(
        self, tokens: Int[Tensor, "B T1"], is_first: bool, generator: torch.Generator | None = None
    ) -> dict[str, Float[Tensor, ""]]:
        """Return the mean loss of a piece, and without penalties its cross-entropy per token."""
        buffers = [getattr(self, name)[:, : len(tokens)] for name in self.own_tensors]
        if is_first:
            for buffer in buffers:
                buffer.zero_()
        state = tuple(buffer.clone() for buffer in buffers)
        hidden, after = self.network.hidden(tokens[:, :-1], state)  # type: ignore[operator]
        for buffer, value in zip(buffers, after, strict=True):
            buffer.copy_(value.detach())
        targets = tokens[:, 1:].reshape(-1)
        if self.sampler is None:
            logits = self.network.logits(hidden)  # type: ignore[operator]
            cross_entropy = functional.cross_entropy(logits.flatten(0, 1), targets)
        else:
            cross_entropy = sampled_softmax_loss(
                self.network.output_vectors,  # type: ignore[arg-type]
                hidden.flatten(0, 1),
                targets,
                self.sampler.draw(generator),
                self.sampler.log_inclusion,
                self.network.output_bias,  # type: ignore[arg-type]
            )
        return {"loss": cross_entropy + self.penalty(), "cross_entropy": cross_entropy}

    def penalty(self) -> Float[Tensor, ""] | float:
        """Return what is added to the cross-entropy of the piece that was just read."""
        if hasattr(self.network, "activation_penalty"):
            added: Tensor = self.network.activation_penalty()  # type: ignore[operator]
            return added
        return 0.0


def start_bias_(network: nn.Module, counts: Int[np.ndarray, " V"]) -> None:
    """Begin at the log frequencies of words, which the network would spend its first epoch on otherwise."""
    frequencies = (counts + 1.0) / (counts.sum() + len(counts))
    bias = network.output_bias
    assert isinstance(bias, nn.Parameter)
    bias.data.copy_(torch.from_numpy(np.log(frequencies)))


@torch.no_grad()
def stream_log_probs(network: nn.Module, stream: Int[np.ndarray, " n"], *, start: int) -> Float[np.ndarray, " n"]:
    """Return log p(x_t | all tokens before) of every token of a stream, by the full softmax.

    A stream of more than 5,000 tokens is read in lanes, ten at most, which lose what stood before them.
    """
    if len(stream) == 0:
        return np.zeros(0, dtype=np.float64)
    was_training = network.training
    network.eval()
    lanes = Lanes.of(stream, min(MOST_LANES, -(-len(stream) // TOKENS_PER_LANE)), start=start)
    state, found = None, []
    for number in range(lanes.count(STEPS_AT_ONCE)):
        tokens = lanes.piece(number, STEPS_AT_ONCE)
        logits, state = network(tokens[:, :-1], state)
        targets = tokens[:, 1:].unsqueeze(2)
        found.append(logits.gather(2, targets).squeeze(2) - logits.logsumexp(dim=2))
    network.train(was_training)
    log_probs: np.ndarray = torch.cat(found, dim=1).reshape(-1)[: len(stream)].double().numpy()
    return log_probs
