"""Does the whole network train for long, from many seeds, without a number that is not one?"""

from __future__ import annotations

import pytest
import torch
from tiny_sentences import rows_of
from torch import nn

from gossamer.data.text import build_sentences
from gossamer.models.spikeslab.dial import SparsityDial
from gossamer.models.spikeslab.hierarchical import HierarchicalCodes
from gossamer.models.spikeslab.module import GRUEncoder, SentenceNetwork, WordVectors
from gossamer.models.spikeslab.objective import Weights
from gossamer.models.spikeslab.ragged import SentenceBatch, pack_sentences
from gossamer.models.spikeslab.training import CLIP_NORM, Schedule, Training

NUM_SEEDS, NUM_STEPS, DIMS, WIDTH = 20, 1000, 4, 4


def whole_network(gates: str, num_words: int) -> SentenceNetwork:
    return SentenceNetwork(
        WordVectors(nn.Embedding(num_words, WIDTH), num_words, WIDTH),
        GRUEncoder(WIDTH, WIDTH),
        HierarchicalCodes(WIDTH, DIMS, gates=gates),
        hidden_dim=WIDTH,
        word_counts=torch.ones(num_words + 1),
    )


def train(gates: str, seed: int, batch: SentenceBatch, num_words: int) -> torch.Tensor:
    """Return all losses and norms of gradients of a training at a high rate, with a dial that asks for much."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    dial = SparsityDial(0.9, DIMS, NUM_STEPS, spike_scale=0.01, share=0.2)
    training = Training(whole_network(gates, num_words), Weights(1.0, 1.0), Schedule(0.02, 4, 1, None), dial)
    optimiser = torch.optim.Adam(training.parameters(), lr=0.02, fused=True)
    weights, seen = list(training.parameters()), []
    for _ in range(NUM_STEPS):
        loss = training(batch, generator)["loss"]
        optimiser.zero_grad()
        loss.backward()
        seen += [loss.detach(), nn.utils.clip_grad_norm_(weights, CLIP_NORM)]  # no clipping mends what is not a number
        optimiser.step()
    return torch.stack([*seen, training.network.codes.log_alpha[0], dial.measured()])


@pytest.mark.slow
@pytest.mark.timeout(900)  # half a minute each on a core of its own
@pytest.mark.parametrize(("gates", "first"), [("balanced", 0), ("free", 1)])
def test_no_nan_in_20_trainings_of_the_whole_network(gates, first):
    """Half of the seeds with gates of either kind: both kinds with all would take minutes."""
    data = build_sentences(["a", "b", "", "c"])
    batch = pack_sentences(data, rows_of(data), 1)
    for seed in range(first, NUM_SEEDS, 2):
        assert torch.isfinite(train(gates, seed, batch, len(data.vocabulary))).all(), seed
