"""Pieces of a stream, and training on it."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import torch
from torch import nn

from gossamer.models.lowrank.language_training import StreamPieces, next_word_distance, train_language_model
from gossamer.networks.lstm import LSTMLanguageModel


def network() -> LSTMLanguageModel:
    torch.manual_seed(0)
    return LSTMLanguageModel(nn.Embedding(50, 4), hidden_dim=4, num_layers=1, dropout=0.5)


@pytest.mark.parametrize(("length", "steps"), [(3, 1), (4, 1), (11, 5), (50, 6)])
def test_pieces_follow_on_from_the_state_before_them(length: int, steps: int):
    model, stream = network().eval(), np.arange(length)
    pieces = list(islice(StreamPieces(model, stream, num_rows=30, num_steps=6, seed=0), 3))
    for (words, state), after in pieces:
        assert words.shape == after.shape == (30, steps)
        assert torch.equal(after, words + 1)  # the stream counts
        before = words[:, :1] - torch.arange(steps, 0, -1)
        torch.testing.assert_close(state[0], model.hidden(before)[1][0])
    drawn = torch.cat([after[:, -1] for _, after in pieces])
    assert drawn.min() == 2 * steps
    assert drawn.max() == length - 1
    again = next(iter(StreamPieces(model, stream, num_rows=30, num_steps=6, seed=0)))
    assert torch.equal(again[1], pieces[0][1])


def test_the_distance_is_that_of_probabilities_summed_word_by_word():
    torch.manual_seed(0)
    output, answers = (torch.randn(3, 2, 5, dtype=torch.float64) for _ in range(2))
    expected = 0.0
    for place in np.ndindex(3, 2):
        own, theirs = (torch.exp(scores[place]) / torch.exp(scores[place]).sum() for scores in (output, answers))
        expected += sum(float(q * torch.log(q / p)) for p, q in zip(own, theirs, strict=True)) / 6
    assert float(next_word_distance((output, None), (answers, "states"))) == pytest.approx(expected)
    assert float(next_word_distance((answers, None), (answers, None))) == pytest.approx(0)
    assert torch.autograd.gradcheck(lambda o: next_word_distance((o, None), (answers, None)), output.requires_grad_())


@pytest.mark.parametrize("num_samples", [None, 10])
def test_what_follows_is_learned(num_samples: int | None):
    model, stream = network(), np.tile(np.arange(5), 60)
    options = {"num_samples": num_samples, "num_steps": 5, "num_lanes": 4, "random_state": 0, "description": "test"}
    history = train_language_model(model, stream, epochs=3, learning_rate=0.1, **options)
    losses = [epoch["loss"] for epoch in history.as_dict()["epochs"]]
    assert losses[-1] < 0.5 * losses[0]
    assert not model.training
