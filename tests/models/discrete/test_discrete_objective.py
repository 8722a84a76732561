from __future__ import annotations

import pytest
import torch
from tiny_discrete import enumerate_states, exact_reconstruction, latents, tiny_network, tiny_rows
from torch.nn import functional

from gossamer.models.discrete.gradients import PATHWISE
from gossamer.models.discrete.objective import leave_one_out, negative_bound


@pytest.mark.parametrize("sort", list(latents()))
def test_the_score_function_is_unbiased(sort: str):
    network, x = tiny_network(latents()[sort]), tiny_rows(1)
    encoded = network.encode(x).detach().requires_grad_()
    states = enumerate_states(network.latent, encoded)
    kl = states.merged().kl() if sort == "counts" else states.kl()
    (exact,) = torch.autograd.grad((0.5 * kl - exact_reconstruction(network, x, encoded)).mean(), encoded)
    # Many rows alike are many independent estimates at once.
    repeated = encoded.detach().expand(6000, -1).clone().requires_grad_()
    generator = torch.Generator().manual_seed(0)
    loss, _ = leave_one_out(network, x.expand(6000, -1), repeated, 3, generator, kl_weight=0.5)
    (each,) = torch.autograd.grad(loss * 6000, repeated)
    error = each.mean(dim=0) - exact[0]
    assert (error.abs() < 5 * each.std(dim=0) / 6000**0.5 + 1e-9).all()
    assert float(exact.abs().max()) > 0.01


def test_leave_one_out_is_the_formula():
    network, x = tiny_network(latents()["slots"]), tiny_rows(2)
    encoded = network.encode(x).detach().requires_grad_()
    drawn = network.latent.draw(encoded, 3, torch.Generator().manual_seed(0))
    fit = network.log_likelihood(drawn.codes, x).detach()
    others = torch.stack([(fit.sum(dim=0) - fit[draw]) / 2 for draw in range(3)])
    expected = torch.autograd.grad(-((fit - others) * drawn.log_q).mean(), encoded)[0]
    loss, _ = leave_one_out(network, x, encoded, 3, torch.Generator().manual_seed(0), kl_weight=0.0)
    torch.testing.assert_close(torch.autograd.grad(loss, encoded, retain_graph=True)[0], expected)
    assert loss.item() == pytest.approx(-fit.mean().item())


@pytest.mark.parametrize("gradient", [*PATHWISE, "score-function"])
@pytest.mark.parametrize("sort", ["slots", "chain", "shared"])
def test_the_decoder_has_the_gradient_of_the_plain_mean(gradient: str, sort: str):
    network, x = tiny_network(latents()[sort]), tiny_rows(4)
    loss, kl = negative_bound(network, x, gradient, 2, torch.Generator().manual_seed(0))
    loss.backward()
    assert torch.isfinite(loss)
    if sort != "chain":
        encoded = network.encode(x)
        exact = network.latent.kl(encoded, network.latent.likeliest(encoded)).mean()
        assert kl.item() == pytest.approx(exact.item())
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_the_losses_value_is_the_bound_of_its_own_draws():
    network, x = tiny_network(latents()["slots"]), tiny_rows(4)
    loss, kl = negative_bound(network, x, "straight-through", 1, torch.Generator().manual_seed(0))
    encoded = network.encode(x)
    generator = torch.Generator().manual_seed(0)
    code = network.latent.pathwise(encoded, "straight-through", torch.ones(1), generator)
    plain = functional.binary_cross_entropy_with_logits(network.decoder(code), x, reduction="none").sum(dim=1).mean()
    assert loss.item() == pytest.approx((plain + kl).item())
