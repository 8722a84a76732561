from __future__ import annotations

import numpy as np
import torch
from tiny_sentences import all_codes, few_sentences, tiny_network

from gossamer.models.spikeslab import inference
from gossamer.models.spikeslab.inference import Refinement, encode_all, likeliest_on
from gossamer.models.spikeslab.objective import Weights


def test_answers_are_in_the_order_of_the_sentences(monkeypatch):
    monkeypatch.setattr(inference, "SENTENCES_AT_ONCE", 2)
    network, data = tiny_network(all_codes()["joint"]), few_sentences()
    together = encode_all(network, data, 10, torch.Generator().manual_seed(0), with_likelihood=True)
    for row in range(len(data)):
        alone = encode_all(network, data[row : row + 1], 10, torch.Generator().manual_seed(0))
        np.testing.assert_allclose(alone.mean[0], together.mean[row], atol=1e-6)
        np.testing.assert_allclose(alone.kl_gamma[0], together.kl_gamma[row], atol=1e-5)
    assert (together.reconstruction > 0).all()
    assert network.training


def test_refinement_lowers_the_objective():
    network, data = tiny_network(all_codes()["gaussian"]), few_sentences()
    weights = Weights(0.1, 0.1)

    def cost(refinement):
        found = [
            encode_all(
                network, data, 10, torch.Generator().manual_seed(seed), refinement=refinement, with_likelihood=True
            )
            for seed in range(10)
        ]
        return np.mean([e.reconstruction.mean() + 0.1 * e.kl_z.mean() for e in found])

    before = {name: value.clone() for name, value in network.state_dict().items()}
    assert cost(Refinement(30, weights)) < cost(None) - 1e-3
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(weight.grad is None for weight in network.parameters())


def test_refinement_computes_no_gradients_of_weights_and_leaves_them_as_they_were(monkeypatch):
    network, data = tiny_network(all_codes()["joint"]), few_sentences()
    network.vectors.marks.requires_grad_(False)
    seen = []
    nll = network.softmax.nll

    def watched(*arguments):
        seen.append([weight.requires_grad for weight in network.parameters()])
        return nll(*arguments)

    monkeypatch.setattr(network.softmax, "nll", watched)
    encode_all(network, data, 10, torch.Generator().manual_seed(0), refinement=Refinement(2, Weights()))
    assert len(seen) == 2
    assert not any(any(flags) for flags in seen)
    fixed = [name for name, weight in network.named_parameters() if not weight.requires_grad]
    assert fixed == ["vectors.marks"]


def test_as_many_are_on_as_are_expected():
    off = np.random.default_rng(0).random((50, 9))
    on = likeliest_on(off)
    np.testing.assert_array_equal(on.sum(axis=1), np.rint((1 - off).sum(axis=1)))
    assert off[0][on[0]].max() <= off[0][~on[0]].min()
    assert likeliest_on(np.zeros((2, 3))).all()
