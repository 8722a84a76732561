"""Recalibrated statistics are plain means over the batches given."""

from __future__ import annotations

import torch
from torch import nn

from gossamer.models.lowrank import recalibrate_


def test_statistics_are_means_over_batches():
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5))
    batches = [((torch.randn(5, 2) + 3,), None) for _ in range(3)]
    assert recalibrate_(model, batches) == 1
    means = torch.stack([inputs.mean(dim=0) for (inputs,), _ in batches])
    torch.testing.assert_close(model[0].running_mean, means.mean(dim=0))
    assert model[0].momentum == 0.1
    assert model.training


def test_without_batch_norms_nothing_runs():
    assert recalibrate_(nn.Linear(2, 2), iter([])) == 0


def test_a_norm_that_does_not_count_batches_counts_none_afterwards():
    model = nn.Sequential(nn.BatchNorm1d(2))
    model[0].num_batches_tracked = None
    recalibrate_(model, [((torch.randn(5, 2) + 3,), None)])
    assert model[0].num_batches_tracked is None
    assert model[0].running_mean.min() > 1
