from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tiny_discrete import enumerate_states, latents, mean_kl

from gossamer.models.discrete.chain_slots import ChainSlotLatent
from gossamer.models.discrete.gradients import PATHWISE
from gossamer.models.discrete.latent import Latent
from gossamer.models.discrete.shared import SharedLatent
from gossamer.models.discrete.slots import SlotLatent

SORTS = list(latents())


def random_encoded(latent: Latent, num_rows: int = 3, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(num_rows, latent.width, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("sort", SORTS)
def test_kl_is_that_of_all_states(sort: str):
    latent = latents()[sort]
    encoded = random_encoded(latent)
    states = enumerate_states(latent, encoded)
    torch.testing.assert_close(states.log_q.exp().sum(dim=1), torch.ones(3, dtype=torch.float64))
    # "counts" is charged for the code alone; the paper for every gate and feature that it draws.
    expected = states.merged().kl() if sort == "counts" else states.kl()
    torch.testing.assert_close(mean_kl(latent, encoded), expected)
    if sort != "chain":  # a formula: no code matters
        torch.testing.assert_close(latent.kl(encoded, states.codes[:1].expand(3, -1)), expected)


@pytest.mark.parametrize("sort", SORTS)
def test_kl_has_the_gradient_it_should(sort: str):
    latent = latents()[sort]
    encoded = random_encoded(latent, 2).requires_grad_()
    codes = latent.draw_prior(2, torch.Generator().manual_seed(0))
    assert torch.autograd.gradcheck(lambda given: latent.kl(given, codes), (encoded,))


@torch.no_grad()
@pytest.mark.parametrize("sort", SORTS)
def test_draws_have_their_probabilities(sort: str):
    latent = latents()[sort]
    encoded = random_encoded(latent, 1)
    states = enumerate_states(latent, encoded).merged()
    drawn = latent.draw(encoded, 20_000, torch.Generator().manual_seed(0))
    codes, place, count = drawn.codes[:, 0].unique(dim=0, return_inverse=True, return_counts=True)
    index = {tuple(code): number for number, code in enumerate(states.codes.tolist())}
    for number, code in enumerate(codes.tolist()):
        state = index[tuple(code)]
        expected = float(states.log_q[0, state].exp())
        assert abs(int(count[number]) / 20_000 - expected) < 5 * np.sqrt(expected / 20_000) + 1e-4
        ratio = drawn.log_ratio[place == number, 0]
        torch.testing.assert_close(ratio, (states.log_q[0, state] - states.log_p[state]).expand_as(ratio))


@pytest.mark.parametrize("sort", SORTS)
def test_log_q_of_a_draw_has_the_gradient_of_its_probability(sort: str):
    latent = latents()[sort]
    encoded = random_encoded(latent, 1).requires_grad_()
    drawn = latent.draw(encoded, 5, torch.Generator().manual_seed(0))
    states = enumerate_states(latent, encoded).merged()
    for number in range(5):
        state = int((states.codes == drawn.codes[number, 0]).all(dim=1).nonzero()[0])
        found = torch.autograd.grad(drawn.log_q[number, 0], encoded, retain_graph=True)[0]
        torch.testing.assert_close(found, torch.autograd.grad(states.log_q[0, state], encoded, retain_graph=True)[0])


@torch.no_grad()
@pytest.mark.parametrize("sort", SORTS)
def test_prior_draws_have_their_probabilities(sort: str):
    latent = latents()[sort]
    states = enumerate_states(latent, random_encoded(latent, 1)).merged()
    drawn = latent.draw_prior(20_000, torch.Generator().manual_seed(0))
    for code, log_p in zip(states.codes, states.log_p, strict=True):
        share = (drawn == code).all(dim=1).double().mean()
        assert abs(float(share - log_p.exp())) < 5 * float(log_p.exp() / 20_000) ** 0.5 + 1e-4


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    num_features=st.integers(1, 12),
    sort=st.sampled_from(["slots", "categorical", "chain", "shared"]),
)
def test_never_more_than_max_active_features_are_on(data: st.DataObject, num_features: int, sort: str):
    max_active = data.draw(st.integers(1, num_features))
    if sort == "shared":
        latent: Latent = SharedLatent(num_features, max_active)
    elif sort == "chain":
        latent = ChainSlotLatent(num_features, max_active)
        torch.nn.init.normal_(latent.influence)
    else:
        latent = SlotLatent(num_features, max_active, has_off=sort == "slots")
    values = st.floats(-60, 60, width=32)
    encoded = torch.from_numpy(data.draw(arrays.arrays(np.float32, (3, latent.width), elements=values)))
    generator = torch.Generator().manual_seed(0)
    found = [
        latent.likeliest(encoded),
        latent.draw_prior(3, generator),
        *latent.draw(encoded, 3, generator).codes,
        *[
            latent.pathwise(encoded, gradient, torch.ones(2), generator)
            for gradient in PATHWISE
            if gradient != "relaxed"
        ],
    ]
    for codes in found:
        assert codes.shape == (3, num_features)
        assert ((codes != 0).sum(dim=1) <= max_active).all()
        assert (codes == codes.round()).all()
        assert (codes >= 0).all()
        assert (codes.sum(dim=1) <= max_active).all()
    for codes in found:
        assert torch.isfinite(latent.kl(encoded, codes)).all()
        assert (latent.kl(encoded, codes) >= -1e-4).all()
