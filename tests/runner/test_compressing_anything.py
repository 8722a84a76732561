"""One door: networks and fitted estimators, each with the report of what became of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import gossamer
from gossamer.models.counts import CDAE
from gossamer.models.linear import EASE
from gossamer.models.lowrank import Budget
from gossamer.testing.right_answers import two_blocks


def test_a_network_comes_back_as_a_network():
    network = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    batches = [(torch.randn(8, 16), torch.randint(4, (8,)))]
    small = gossamer.compress(network, data=batches, budget=gossamer.Budget(macs=0.6), allocator="pos_cvx")
    assert isinstance(small, nn.Sequential)
    assert small.compression_report.share("macs") <= 0.6


def test_an_estimator_comes_back_as_an_estimator():
    data = two_blocks().history
    model = CDAE(hidden_dim=8, epochs=2, batch_size=8).fit(data)
    before = model.recommend(data).scores
    small = gossamer.compress(model, data=data, budget=Budget(params=0.9), only=["output_*"])
    assert isinstance(small, CDAE)
    assert small.compression_report.share("params") <= 0.9
    assert not hasattr(model, "compression_report")
    np.testing.assert_array_equal(model.recommend(data).scores, before)


def test_what_has_no_network_is_refused():
    data = two_blocks().history
    with pytest.raises(ValueError, match="estimator must be one with a network that can be split, which EASE has not"):
        gossamer.compress(EASE().fit(data), data=data, budget=Budget(params=0.5))


@pytest.mark.parametrize(
    ("model", "told"), [("saved/model", "str"), (None, "NoneType"), (nn.Linear, "the class Linear")]
)
def test_what_is_no_model_is_refused(model, told):
    with pytest.raises(ValueError, match=rf"model must be a torch\.nn\.Module or a fitted estimator, got {told}"):
        gossamer.compress(model, data=[torch.randn(2, 4)], budget=Budget(params=0.5))
