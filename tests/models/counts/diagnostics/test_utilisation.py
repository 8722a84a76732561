"""Directions in use: by hand, and over the epochs of a history."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.counts.diagnostics.utilisation import (
    USED,
    count_used,
    count_used_directions,
    utilisation_curve,
)
from gossamer.models.counts.module import Decoder


def test_singular_values_above_the_threshold_are_counted():
    values = np.array([3.0, 1.0, 0.5])
    assert [count_used(values, threshold) for threshold in (0, 0.5, 1.0, 3.0)] == [3, 2, 1, 0]


def test_a_decoder_uses_the_directions_that_change_terms():
    decoder = Decoder(num_terms=4, latent_dim=3)
    with torch.no_grad():
        decoder.bias.zero_()
        # Columns without a mean, orthogonal, of lengths 4, 2 and 0: the singular values at 0, where terms are equal.
        decoder.weight.copy_(torch.tensor([[2.0, 1, 0], [2, -1, 0], [-2, 1, 0], [-2, -1, 0]]))
    assert [count_used_directions(decoder, threshold) for threshold in (1.0, 3.0, 5.0)] == [2, 1, 0]
    assert count_used_directions(decoder) == 2


def test_untrained_directions_of_many_terms_count_as_used():
    assert count_used_directions(Decoder(num_terms=2000, latent_dim=20)) == 20
    assert count_used_directions(Decoder(num_terms=60, latent_dim=20)) == 0


def test_a_history_becomes_a_curve():
    records = [{"epoch": 0, USED: 2.0}, {"epoch": 1, "loss": 1.0}, {"epoch": 2, USED: 5.0}]
    for history in (records, {"epochs": records, "best_epoch": 2}):
        curve = utilisation_curve(history)
        assert curve.name == USED
        assert curve.epochs.tolist() == [1, 3]
        assert curve.values.tolist() == [2, 5]
    assert utilisation_curve([{"loss": 3.0}, {"loss": 2.0}], "loss").epochs.tolist() == [1, 2]


def test_mistakes_are_answered_with_a_sentence():
    with pytest.raises(ValueError, match="threshold must be a finite number >= 0, got -1"):
        count_used(np.ones(2), -1)
    with pytest.raises(ValueError, match="threshold must be"):
        count_used_directions(Decoder(3, 2), float("nan"))
    with pytest.raises(ValueError, match="history must have 'used_directions' in the record of an epoch, got 'loss'"):
        utilisation_curve([{"loss": 1.0}])
    with pytest.raises(ValueError, match="got no epochs"):
        utilisation_curve({"epochs": []})
