from __future__ import annotations

import torch
from tiny_sentences import DIMS, few_sentences, tiny_network

from gossamer.models.spikeslab import decoding
from gossamer.models.spikeslab.decoding import as_sentences, decode


def test_decoding_is_greedy_without_a_generator_and_stops_at_the_limit():
    network, codes = tiny_network(), torch.randn(3, DIMS)
    rows = decode(network, codes, 6)
    assert len(rows) == 3
    assert all(len(row) <= 6 and all(0 <= word < 4 for word in row) for row in rows)
    assert rows == decode(network, codes, 6)


def test_an_end_mark_ends_a_sentence():
    network = tiny_network()
    network.softmax.linear.bias.data[4] = 100.0
    assert decode(network, torch.randn(2, DIMS), 6) == [[], []]


def test_drawn_words_depend_on_the_seed_only():
    network, codes = tiny_network(), torch.randn(8, DIMS)
    first, second = (decode(network, codes, 9, torch.Generator().manual_seed(1)) for _ in range(2))
    assert first == second
    assert first != decode(network, codes, 9, torch.Generator().manual_seed(2))


def test_rows_become_sentences():
    data = as_sentences([[1, 2], [], [3]], few_sentences().vocabulary)
    assert data.lengths.tolist() == [2, 0, 1]


def test_log_probabilities_of_a_block_of_codes_exist_at_a_time(monkeypatch):
    network, codes = tiny_network(), torch.randn(7, DIMS)
    expected = decode(network, codes, 6)
    monkeypatch.setattr(decoding, "WORDS_AT_ONCE", 10)  # five words to choose from: two codes
    sizes = []
    log_probs = network.softmax.log_probs
    monkeypatch.setattr(network.softmax, "log_probs", lambda hidden: sizes.append(len(hidden)) or log_probs(hidden))
    assert decode(network, codes, 6) == expected
    assert max(sizes) == 2
    assert len(decode(network, codes[:0], 6)) == 0
