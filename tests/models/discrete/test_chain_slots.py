from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.models.discrete.chain_slots import ChainSlotLatent
from gossamer.models.discrete.slots import SlotLatent

SMALL = {
    "encoder_dims": [8],
    "decoder_dims": [8],
    "epochs": 60,
    "batch_size": 8,
    "learning_rate": 0.03,
    "warmup": 0.5,  # so little data: with the whole KL from the start codes may never come to be used
}


@pytest.mark.parametrize(("num_features", "max_active"), [(6, 3), (7, 3), (4, 4), (5, 1)])
def test_a_slot_looks_at_earlier_slots_only(num_features: int, max_active: int):
    latent = ChainSlotLatent(num_features, max_active).double()
    torch.nn.init.normal_(latent.influence)
    codes = torch.rand(1, num_features, dtype=torch.float64, requires_grad=True)
    log_p = latent.log_prior_after(codes)
    slots = torch.arange(max_active).unsqueeze(1).expand_as(latent.option_feature)
    slot_of_feature = slots[latent.option_feature < num_features]
    for slot in range(max_active):
        (slope,) = torch.autograd.grad(log_p[0, slot, -1], codes, retain_graph=True)
        assert torch.equal(slope[0] != 0, slot_of_feature < slot)


def test_it_begins_as_a_prior_per_slot():
    chain, single = ChainSlotLatent(6, 3), SlotLatent(6, 3)
    encoded, codes = torch.randn(4, chain.width), chain.draw_prior(4, torch.Generator().manual_seed(0))
    torch.testing.assert_close(chain.kl(encoded, codes), single.kl(encoded, codes))


def test_a_chained_prior_knows_what_goes_together():
    """Two features, alike in nine rows of ten: a p per slot pays 2 log 2 nats for them, a chain log 2 + H(0.1)."""
    first = np.arange(200) % 2
    second = np.where(np.arange(200) % 20 < 2, 1 - first, first)
    rows = np.repeat(np.column_stack([first, second]), 5, axis=1).astype(np.float32)
    settings = {**SMALL, "num_features": 2, "max_active": 2}
    single, chain = (SparseDiscreteVAE(prior=prior, **settings).fit(rows) for prior in ("learned", "chain"))
    saved = np.log(2) + 0.1 * np.log(0.1) + 0.9 * np.log(0.9)
    difference = single.evaluate(rows)["hard"] - chain.evaluate(rows)["hard"]
    assert abs(difference - saved) < 0.15
    new = chain.network_.latent.draw_prior(2000, torch.Generator().manual_seed(0))
    alike = float((new[:, 0] == new[:, 1]).double().mean())
    assert abs(max(alike, 1 - alike) - 0.9) < 0.07  # whether a feature stands for ones or for zeros is left open
