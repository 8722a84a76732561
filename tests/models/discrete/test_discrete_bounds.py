from __future__ import annotations

import pytest
import torch
from tiny_discrete import (
    enumerate_states,
    exact_log_likelihood,
    exact_reconstruction,
    latents,
    tiny_network,
    tiny_rows,
)

from gossamer.models.discrete.bounds import importance_bound, measure, measure_hard


@pytest.mark.parametrize("sort", list(latents()))
def test_bounds_are_those_of_all_states(sort: str):
    network, x = tiny_network(latents()[sort]), tiny_rows(3)
    with torch.no_grad():
        truth = -exact_log_likelihood(network, x)
        encoded = network.encode(x)
        states = enumerate_states(network.latent, encoded)
        kl = states.merged().kl() if sort == "counts" else states.kl()
        exact_hard = kl - exact_reconstruction(network, x, encoded)
        generator = torch.Generator().manual_seed(0)
        found = measure_hard(network, x, 20_000, generator)
        weights = measure_hard(network, x.repeat(2000, 1), 10, generator)["iw"].view(2000, 3)
    torch.testing.assert_close(found["hard"], exact_hard, atol=0.03, rtol=0)
    assert (exact_hard >= truth - 1e-9).all()
    noise = 5 * weights.std(dim=0) / 2000**0.5
    assert (weights.mean(dim=0) >= truth - noise).all()  # ten draws: still a bound
    assert (weights.mean(dim=0) <= exact_hard + noise).all()  # and between
    torch.testing.assert_close(found["iw"], truth, atol=0.15, rtol=0)  # many draws: the truth
    torch.testing.assert_close(found["hard"], found["reconstruction"] + found["kl"])


def test_relaxed_draws_can_claim_less_than_the_truth():
    """The paper's measure is no bound: a decoder that reads between the corners pays nothing for it."""
    network, x = tiny_network(latents()["bernoulli"]), torch.tensor([[1.0, 0, 0, 0, 0]], dtype=torch.float64)
    network.temperatures.log_temperatures.fill_(7.0)  # so soft that every draw is near (½, ½)
    with torch.no_grad():
        first, last = network.decoder[0], network.decoder[-1]
        # A decoder that gives x full marks at code ½ and at no corner: tanh(40·(z − ½)) is 0 there, ±1 elsewhere.
        first.weight.copy_(40 * torch.eye(4, dtype=torch.float64))
        first.bias.fill_(-20.0)
        last.weight.zero_()
        last.bias.copy_(torch.tensor([8.0, -8, -8, -8, -8], dtype=torch.float64))
        last.weight[0] = torch.tensor([9.0, 3, 3, 3], dtype=torch.float64)
        network.encoder[-1].weight.zero_()
        network.encoder[-1].bias.zero_()
        found = measure(network, [x.expand(200, -1)], num_samples=50)
        truth = -float(exact_log_likelihood(network, x))
    assert found["hard"] >= found["iw"] >= truth - 0.05
    assert found["relaxed"] < truth


def test_measures_do_not_depend_on_how_rows_come():
    network, x = tiny_network(latents()["slots"]), tiny_rows(9)
    whole, again = measure(network, [x], num_samples=3), measure(network, [x], num_samples=3)
    assert whole == again
    assert 0 <= whole["active"] <= 2


def test_an_importance_bound_of_one_draw_is_its_weight():
    weights = torch.tensor([[-3.0, -1.0]])
    torch.testing.assert_close(importance_bound(weights), weights[0])
