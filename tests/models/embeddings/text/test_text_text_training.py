from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gossamer.data.text import build_sentences
from gossamer.models.embeddings.rivals.low_rank import LowRankEmbedding
from gossamer.models.embeddings.text.text_training import (
    arrays_of,
    pad_texts,
    restore_network,
    seeded_modules,
)
from gossamer.networks.text_cnn import TextCNN


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), min_size=1, max_size=5), st.integers(1, 6))
def test_padded_texts_are_the_texts(texts: list[list[str]], max_length: int):
    data = build_sentences([" ".join(text) for text in texts])
    rows = np.arange(len(texts))[::-1]
    padded = pad_texts(data, rows, max_length)
    for row, tokens in zip(rows, padded.tolist(), strict=True):
        kept = [data.vocabulary[token] for token in tokens if token >= 0]
        assert kept == texts[row][:max_length]
        assert all(token == -1 for token in tokens[len(kept) :])


def test_seeded_modules_leave_the_global_generator_alone():
    before = torch.random.get_rng_state()
    drawn = []
    for _ in range(2):
        with seeded_modules(3, "network"):
            drawn.append(torch.nn.Linear(2, 2).weight)
    assert torch.equal(*drawn)
    assert torch.equal(torch.random.get_rng_state(), before)
    with seeded_modules(None, "network"):
        assert not torch.equal(torch.nn.Linear(2, 2).weight, drawn[0])


def test_network_comes_back_and_what_does_not_fit_is_named():
    def make(table: LowRankEmbedding) -> TextCNN:
        return TextCNN(table, 2, num_filters=3)

    network = make(LowRankEmbedding(5, 4, rank=2)).eval()
    arrays, config = arrays_of(network), network.embedding.config()
    again = restore_network(make, "lowrank", config, arrays, 5)
    tokens = torch.tensor([[0, 4, 2, -1]])
    assert torch.equal(again(tokens), network(tokens))
    with pytest.raises(ValueError, match=r"table must have a row for each of the 6 words, got"):
        restore_network(make, "lowrank", config, arrays, 6)
    with pytest.raises(ValueError, match=r"arrays must be those of the network, got also \['network.more'\]"):
        restore_network(make, "lowrank", config, {**arrays, "network.more": np.zeros(1)}, 5)
    with pytest.raises(ValueError, match=r"method must be one of .*, got 'magic'"):
        restore_network(make, "magic", config, arrays, 5)
