from __future__ import annotations

import torch
from tiny_sentences import DIMS, FEATURES, all_codes, few_sentences, rows_of, tiny_network

from gossamer.models.spikeslab.probe_network import DenseLayers, FrozenProbe, SimpleClassifier
from gossamer.models.spikeslab.ragged import pack_sentences


def test_the_answer_is_the_mean_over_draws():
    torch.manual_seed(0)
    network = tiny_network(all_codes()["joint"])
    frozen = FrozenProbe(network, DenseLayers(DIMS, [3, 3], 2), 5).train()
    features = torch.randn(4, FEATURES)
    log_probs = frozen(features, torch.Generator().manual_seed(0))
    z = network.codes.draw(features.repeat(5, 1), torch.Generator().manual_seed(0)).z[0].view(5, 4, DIMS)
    torch.testing.assert_close(log_probs.exp(), frozen.probe(z).exp().mean(dim=0))
    torch.testing.assert_close(log_probs.exp().sum(dim=1), torch.ones(4))


def test_only_the_probe_learns_and_the_network_is_never_in_training():
    frozen = FrozenProbe(tiny_network(), DenseLayers(DIMS, [3], 2), 2).train()
    assert frozen.training
    assert not frozen.network.training
    frozen(torch.randn(4, FEATURES), None).sum().backward()
    assert all(weight.grad is None for weight in frozen.network.parameters())
    assert all(weight.grad is not None for weight in frozen.probe.parameters())


def test_the_simple_classifier_learns_whole():
    network, data = tiny_network(), few_sentences()
    simple = SimpleClassifier(network.vectors, network.encoder, DenseLayers(FEATURES, [], 2))
    simple(pack_sentences(data, rows_of(data), 9))[:, 0].sum().backward()
    assert all(weight.grad is not None for weight in simple.parameters())
