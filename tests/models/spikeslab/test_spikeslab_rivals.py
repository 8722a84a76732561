from __future__ import annotations

import pytest
import torch
from tiny_sentences import DIMS, FEATURES

from gossamer.models.spikeslab.rivals import MatCodes, SparseCodingCodes
from gossamer.models.spikeslab.spike_slab import spike_slab_kl


def test_what_mat_calls_off_is_where_its_spike_is():
    codes = MatCodes(FEATURES, DIMS, off_prob=0.8)
    torch.nn.init.zeros_(codes.head[-1].weight)
    codes.head[-1].bias.data = torch.tensor([0.0, 0.05, 0.5, 2.0] + [0.0] * DIMS)
    off = codes.describe(torch.zeros(1, FEATURES)).off_probs[0]
    assert (off > 0.5).tolist() == [True, True, False, False]
    assert off[0].item() == pytest.approx(80 / 81, rel=1e-5)  # 0.8 · 20 against 0.2 at the peak


def test_one_pseudo_input_is_the_printed_objective():
    torch.manual_seed(0)
    codes = SparseCodingCodes(FEATURES, DIMS, num_pseudo_inputs=1)
    features = torch.randn(3, FEATURES)
    own, pseudo = codes._posterior(features), codes._posterior(codes.pseudo_inputs)
    expected = spike_slab_kl(*own, *pseudo).sum(dim=1)
    torch.testing.assert_close(codes.draw(features, None).kl_z, expected)


def test_several_pseudo_inputs_bound_the_divergence_by_the_nearest():
    torch.manual_seed(0)
    codes = SparseCodingCodes(FEATURES, DIMS, num_pseudo_inputs=4)
    features = torch.randn(5, FEATURES)
    own = codes._posterior(features)
    to_each, _ = codes._divergences(*own)
    bound = codes.draw(features, None).kl_z
    assert (bound <= to_each.min(dim=1).values + torch.tensor(4.0).log() + 1e-5).all()
    assert (bound >= to_each.min(dim=1).values - 1e-5).all()


def test_slabs_are_standard_until_the_warm_up_is_over():
    torch.manual_seed(0)
    codes = SparseCodingCodes(FEATURES, DIMS, warm_up=2)
    features = torch.randn(3, FEATURES)
    _, mean, log_scale = codes._posterior(features)
    assert mean.abs().max() == 0
    torch.testing.assert_close(log_scale, torch.zeros_like(log_scale))
    codes.advance()
    assert codes.slab_share == 0.5
    codes.advance()
    assert codes._posterior(features)[1].abs().min() > 0


def test_masks_are_hard_outside_training():
    torch.manual_seed(0)
    codes = SparseCodingCodes(FEATURES, DIMS).eval()
    z = codes.draw(torch.randn(200, FEATURES), torch.Generator().manual_seed(0)).z
    assert 0.6 < (z == 0).float().mean().item() < 0.95
