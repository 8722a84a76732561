"""A language model's stream of words: how it is learned through the one loop, and pieces of it to search masks on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional
from torch.optim.lr_scheduler import LambdaLR

from gossamer.models.lowrank.counting import evaluating
from gossamer.networks.lstm import LSTMLanguageModel, State
from gossamer.networks.sampled_softmax import NegativeSampler
from gossamer.networks.word_streams import LaneBatches, Lanes, StreamLoss

if TYPE_CHECKING:
    from gossamer.training.history import History

Piece = tuple[tuple[Tensor, State], Tensor]  # (words and the state before them), the words after each of them


def train_language_model(
    network: LSTMLanguageModel,
    stream: Int[np.ndarray, " n"],
    *,
    num_samples: int | None,
    num_steps: int,
    num_lanes: int,
    epochs: int,
    learning_rate: float,
    random_state: int | None,
    description: str,
) -> History:
    """Train all parameters by Adam, the rate rising shortly and falling along a cosine to zero.

    After a split the two factors of a layer are parameters like any other.
    """
    from gossamer.training.loop import fit
    from gossamer.training.schedules import warm_cosine
    from gossamer.training.step import GradientStep

    lanes = Lanes.of(stream, min(num_lanes, len(stream)), start=int(stream[-1]))
    batches = LaneBatches(lanes, num_steps)
    counts = np.bincount(stream, minlength=int(network.embedding.num_embeddings))  # type: ignore[arg-type]
    sampler = None if num_samples is None else NegativeSampler(counts, num_samples)
    module = StreamLoss(network, num_lanes=len(lanes.tokens), sampler=sampler)
    optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate)
    schedule = LambdaLR(optimiser, lambda update: warm_cosine(update, epochs * len(batches)))
    step = GradientStep(
        module,
        lambda loss, batch, generator: loss(*batch, generator),
        optimiser,
        scheduler=schedule,
        clip_norm=5.0,
        random_state=random_state,
    )
    history = fit(step, batches, epochs=epochs, description=description)
    network.eval()
    return history


def next_word_distance(output: tuple[Tensor, Any], answers: tuple[Tensor, Any]) -> Tensor:
    """Return how far next words' probabilities are from those of the answers: Kullback-Leibler, mean over words.

    Scores have words along their last axis. The states that come with them are not compared: they matter for the words
    that follow alone.

    >>> scores = torch.tensor([[0.0, 1.0]])
    >>> round(float(next_word_distance((scores + 5, None), (scores, None))), 4)
    0.0
    """
    own, theirs = (functional.log_softmax(scores, dim=-1) for scores, _ in (output, answers))
    return functional.kl_div(own, theirs, reduction="none", log_target=True).sum(dim=-1).mean()


class StreamPieces:
    """Pieces from all over a stream, drawn anew for as long as they are asked for.

    Each comes with the state of `network` after the piece before it: a network that is compressed begins where the
    whole one would have been, rather than knowing nothing.
    """

    def __init__(
        self, network: LSTMLanguageModel, stream: Int[np.ndarray, " n"], *, num_rows: int, num_steps: int, seed: int
    ) -> None:
        self.network, self.stream, self.num_rows, self.seed = network, stream, num_rows, seed
        self.num_steps = min(num_steps, (len(stream) - 1) // 2)

    def __iter__(self) -> Iterator[Piece]:
        rng, steps = np.random.default_rng(self.seed), self.num_steps
        while True:
            begins = rng.integers(0, len(self.stream) - 2 * steps, self.num_rows)
            words = torch.from_numpy(self.stream[begins[:, None] + np.arange(2 * steps + 1)].astype(np.int64))
            with torch.no_grad(), evaluating(self.network):
                _, state = self.network.hidden(words[:, :steps])
            yield (words[:, steps:-1], state), words[:, steps + 1 :]
