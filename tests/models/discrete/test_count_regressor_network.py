"""Counts of gated draws: their likelihood over all counts, and evidence that adds up over an image."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from gossamer.models.discrete.count_regressor_network import (
    ConvEncoder,
    DenseEncoder,
    count_nll,
    image_side,
    mean_counts,
)


def test_likelihood_and_mean_are_those_of_all_counts() -> None:
    encoded = torch.randn(1, 3, dtype=torch.float64)
    every = [counts for counts in product(range(4), repeat=2) if sum(counts) <= 3]
    table = torch.tensor(every, dtype=torch.float64)
    probs = count_nll(encoded.expand(len(every), -1), table, 3).neg().exp()
    assert float(probs.sum()) == pytest.approx(1)
    torch.testing.assert_close(mean_counts(encoded, 3)[0], probs @ table)
    two = encoded.repeat(2, 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda rows: count_nll(rows, table[:2], 3), (two,))


def test_evidence_adds_up_over_places() -> None:
    encoder = ConvEncoder((12, 20), (8,), 2).eval()
    image = torch.rand(1, 240)
    encoded = encoder(image)
    total = encoder.evidence(image).sum(dim=(2, 3))[0]
    torch.testing.assert_close(mean_counts(encoded, 1)[0], total[:2] / total.sum(), rtol=1e-3, atol=1e-6)


def test_a_dense_encoder_has_a_logit_per_class_and_one_for_the_gate() -> None:
    assert DenseEncoder(4, (5,), 3)(torch.randn(2, 4)).shape == (2, 4)


def test_what_is_no_image_is_named() -> None:
    with pytest.raises(ValueError, match=r"data must be images of shape \(N, height, width\) for encoder='conv', got"):
        image_side((3, 28, 28))
