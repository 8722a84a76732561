from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_sentences import DIMS, few_sentences, rows_of, tiny_network
from torch import nn

from gossamer.models.spikeslab.module import WordVectors
from gossamer.models.spikeslab.ragged import pack_sentences


@pytest.mark.parametrize("softmax", ["full", "adaptive"])
def test_a_batch_gives_what_sentences_give_one_by_one(softmax):
    network, data = tiny_network(softmax=softmax), few_sentences()
    batch = pack_sentences(data, rows_of(data), 10)
    z = torch.randn(len(data), DIMS)
    with torch.no_grad():
        together = network.reconstruction(batch, z)[1]
        features = network.features(batch)
        for place, row in enumerate(batch.rows.tolist()):
            alone = pack_sentences(data, np.array([row]), 10)
            torch.testing.assert_close(network.reconstruction(alone, z[place : place + 1])[1][0], together[place])
            torch.testing.assert_close(network.features(alone)[0], features[place])


def test_the_likelihood_of_all_continuations_is_one():
    """Σ_w p(w|z, "a b") = 1, words and end mark, and it is the last factor of the likelihood."""
    network, data = tiny_network(), few_sentences()
    batch = pack_sentences(data, np.array([0]), 10)
    with torch.no_grad():
        hidden = network.hidden(batch, torch.ones(1, DIMS))
        log_probs = network.softmax.log_probs(hidden)
    torch.testing.assert_close(log_probs.exp().sum(dim=1), torch.ones(len(hidden)))
    total = -log_probs.gather(1, batch.tokens.unsqueeze(1)).sum()
    torch.testing.assert_close(network.reconstruction(batch, torch.ones(1, DIMS))[1].sum(), total)


def test_the_code_is_heard_at_every_step():
    network, data = tiny_network(), few_sentences()
    batch = pack_sentences(data, np.array([0]), 10)
    z = torch.zeros(1, DIMS, requires_grad=True)
    for step in range(4):
        (gradient,) = torch.autograd.grad(network.hidden(batch, z)[step].sum(), z)
        assert gradient.abs().sum() > 0


def test_forward_is_a_reconstruction():
    network, data = tiny_network(), few_sentences()
    cost = network(pack_sentences(data, rows_of(data), 10), torch.Generator().manual_seed(0))
    assert cost.shape == (5,)
    assert (cost > 0).all()


def test_tables_that_do_not_do_are_named():
    with pytest.raises(ValueError, match="table must have a vector for each of 5 words, got none for word number 4"):
        WordVectors(nn.Embedding(4, 3), 5, 3)
    with pytest.raises(ValueError, match=r"table must give vectors of embedding_dim = 3, got the shape \(1, 2\)"):
        WordVectors(nn.Embedding(5, 2), 5, 3)
    with pytest.raises(ValueError, match="table must have dense gradients, got row-sparse ones of 'weight'; make it "):
        WordVectors(nn.Embedding(5, 3, sparse=True), 5, 3)
    assert WordVectors(nn.Embedding(5, 3, sparse=True).requires_grad_(False), 5, 3).num_words == 5  # it does not learn
