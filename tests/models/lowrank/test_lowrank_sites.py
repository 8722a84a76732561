"""Which weights can be split, and why others stay."""

from __future__ import annotations

import pytest
import torch
from small_networks import SmallCNN, SmallLanguageModel
from torch import nn

from gossamer.models.lowrank.sites import find_sites


def test_shared_weights_are_one_site():
    sites = {site.name: site for site in find_sites(SmallLanguageModel(), scheme="spatial")}
    assert list(sites) == ["words"]
    assert list(sites["words"].modules) == ["words", "output"]
    assert sites["words"].matrix_shape() == (30, 12)
    assert sites["words"].rank_params() == 42


def test_matrices_of_convolutions():
    sites = {site.name: site for site in find_sites(SmallCNN(), scheme="spatial")}
    assert sites["grouped"].matrix_shape() == (6 * 3, 4 * 3)
    assert sites["grouped"].rank_params() == 2 * 30
    assert sites["row"].matrix_shape() == (12, 36)
    for site in sites.values():
        assert torch.equal(site.from_matrix(site.to_matrix(site.weight)), site.weight)


def test_names_decide():
    kept = {site.name: site.stays for site in find_sites(SmallCNN(), scheme="channel", keep=["h*", "first"])}
    assert {name for name, reason in kept.items() if reason == "kept by name"} == {"head", "first"}
    only = {site.name: site.stays for site in find_sites(SmallCNN(), scheme="channel", only=["head"])}
    assert {name for name, reason in only.items() if reason is None} == {"head"}
    with pytest.raises(ValueError, match="keep must match a layer, of first, grouped, circular, row, head; got 'tail'"):
        find_sites(SmallCNN(), scheme="channel", keep=["tail"])
    with pytest.raises(ValueError, match="only must be a list of patterns, got 'head'"):
        find_sites(SmallCNN(), scheme="channel", only="head")


def test_reasons_to_stay():
    class Doubled(nn.Linear):
        def forward(self, input):
            return 2 * super().forward(input)

    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.own = Doubled(3, 3)
            self.rare = nn.Embedding(4, 3, max_norm=1.0)
            self.conv, self.linear = nn.Conv1d(3, 3, 1), nn.Linear(3, 3)
            self.conv.weight = nn.Parameter(torch.zeros(3, 3, 1))
            self.seen = nn.Linear(2, 2)
            self.again = self.seen.weight

    reasons = {site.name: site.stays for site in find_sites(Holder(), scheme="channel")}
    assert reasons["own"] == "has a forward of its own"
    assert reasons["rare"] == "has max_norm"
    assert reasons["seen"] == "the model holds its weight, too"
    assert reasons["linear"] is None
