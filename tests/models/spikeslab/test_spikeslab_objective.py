from __future__ import annotations

import pytest
import torch
from tiny_sentences import all_codes, few_sentences, rows_of, tiny_network

from gossamer.models.spikeslab.objective import Weights, objective
from gossamer.models.spikeslab.ragged import pack_sentences


@pytest.mark.parametrize("kind", list(all_codes()))
def test_the_loss_is_the_weighted_sum(kind):
    network, data = tiny_network(all_codes()[kind]), few_sentences()
    batch = pack_sentences(data, rows_of(data), 10)
    features = network.features(batch)
    outcome = objective(network, batch, features, Weights(0.3, 0.2, 0.1), torch.Generator().manual_seed(0))
    drawn = network.codes.draw(features, torch.Generator().manual_seed(0))
    parts = drawn.kl_z.mean() * 0.3 + 0.2 * (drawn.kl_gamma.mean() + drawn.divergence) + 0.1 * drawn.penalty
    torch.testing.assert_close(outcome.loss, network.reconstruction(batch, drawn.z[0])[0] + parts)
    outcome.loss.backward()
    assert all(torch.isfinite(weight.grad).all() for weight in network.parameters())


def test_more_draws_have_the_same_mean_and_less_noise():
    network, data = tiny_network(all_codes()["joint"]), few_sentences()
    batch = pack_sentences(data, rows_of(data), 10)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        features = network.features(batch)
        one = torch.stack([objective(network, batch, features, Weights(), generator).loss for _ in range(60)])
        six = torch.stack(
            [
                objective(network, batch, features, Weights(), generator, num_gates=2, num_samples=3).loss
                for _ in range(60)
            ]
        )
    assert (one.mean() - six.mean()).abs() < 4 * one.std() / 60**0.5
    assert six.std() < one.std()
