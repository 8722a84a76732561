"""Costs counted from uses agree with torch's own FLOP counter."""

from __future__ import annotations

import torch
from small_networks import SmallCNN, SmallLanguageModel, encoder, image_batches, token_batches
from torch import nn

from gossamer.models.lowrank.assembly import unroll_
from gossamer.models.lowrank.counting import (
    batch_norms,
    count_bytes,
    count_macs,
    count_params,
    evaluating,
    observe_uses,
)
from gossamer.models.lowrank.sites import find_sites


def test_uses_add_up_to_torchs_count():
    for model, inputs in ((SmallCNN(), image_batches()[0][0]), (SmallLanguageModel(), token_batches()[0][0])):
        holder = nn.Sequential(model)
        unroll_(holder, set())
        batch = ((inputs,), None)
        sites = find_sites(holder, scheme="spatial")
        observe_uses(holder, sites, batch)
        assert sum(use.whole_macs for site in sites for use in site.uses) == count_macs(holder, batch)


def test_an_lstm_by_hand():
    holder = nn.Sequential(nn.LSTM(5, 4, 2, bidirectional=True))
    unroll_(holder, set())
    batch = ((torch.zeros(3, 2, 5),), None)
    sites = find_sites(holder, scheme="spatial")
    observe_uses(holder, sites, batch)
    by_hand = 3 * 2 * 2 * 16 * (5 + 4 + 8 + 4)  # steps · batch · directions · gates · (inputs and states of 2 layers)
    assert count_macs(holder, batch) == by_hand


def test_attention_scores_count_too():
    model, batch = encoder(), ((torch.zeros(2, 3, 8),), None)
    holder = nn.Sequential(model)
    unroll_(holder, set())
    linear = 2 * 2 * 3 * (4 * 64 + 2 * 128)
    assert count_macs(holder, batch) == linear + 2 * 2 * (2 * 3 * 3 * 8)


def test_numbers_and_bytes_count_once():
    model = SmallLanguageModel()
    assert count_params(model) == sum({id(p): p.numel() for p in model.parameters()}.values())
    assert count_bytes(nn.BatchNorm1d(4)) == 4 * 4 * 4 + 8


def test_modes_come_back():
    model = SmallCNN().train()
    model.head.eval()
    with evaluating(model, batch_statistics=True):
        assert not model.training
        assert model.norm.training
    assert model.training
    assert not model.head.training
    assert batch_norms(model) == [model.norm]


def test_layers_that_nothing_reaches_stay():
    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, inputs):
            return self.used(inputs)

    model = Idle()
    sites = find_sites(model, scheme="channel")
    observe_uses(model, sites, ((torch.zeros(1, 2),), None))
    assert [site.stays for site in sites] == [None, "is not used in a forward pass"]


def test_layers_right_before_batch_norms_are_known():
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.norm, self.beside = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(3, 4, 3)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.norm(self.before(images)) + torch.relu(self.beside(images))

    model = Residual()
    sites = find_sites(model, scheme="spatial")
    observe_uses(model, sites, ((torch.zeros(2, 3, 5, 5),), None))
    assert {site.name: site.is_normalised for site in sites} == {"before": True, "beside": False}
