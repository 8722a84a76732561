from __future__ import annotations

import pytest
import torch
from tiny_discrete import enumerate_states, latents

from gossamer.models.discrete.latent import Latent
from gossamer.models.discrete.slots import SlotLatent


def random_encoded(latent: Latent, num_rows: int = 3, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(num_rows, latent.width, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("sort", ["slots", "uneven-slots", "categorical", "bernoulli"])
def test_the_likeliest_code_is_the_mode(sort: str):
    latent = latents()[sort]
    encoded = random_encoded(latent)
    states = enumerate_states(latent, encoded)
    torch.testing.assert_close(latent.likeliest(encoded), states.codes[states.log_q.argmax(dim=1)])


def test_twenty_categoricals_of_ten_are_slots_that_are_never_off():
    rival = SlotLatent(200, 20, has_off=False, learned_prior=False)
    ours = SlotLatent(200, 20)
    logits = torch.randn(2, 20, 10)
    with torch.no_grad():
        ours.prior_logits[:, -1] = -1e4
    never_off = torch.cat([logits, torch.full((2, 20, 1), -1e4)], dim=2)
    codes = rival.likeliest(logits.flatten(1))
    torch.testing.assert_close(ours.kl(never_off.flatten(1), codes), rival.kl(logits.flatten(1), codes))
    torch.testing.assert_close(ours.likeliest(never_off.flatten(1)), rival.likeliest(logits.flatten(1)))
