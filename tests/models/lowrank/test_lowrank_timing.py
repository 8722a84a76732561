"""What is timed is what would run; speed itself is never asserted."""

from __future__ import annotations

import numpy as np
import torch
from small_networks import SmallCNN, SmallLanguageModel, image_batches, token_batches
from torch import nn

from gossamer.models.lowrank.counting import observe_uses
from gossamer.models.lowrank.factors import factorise
from gossamer.models.lowrank.sites import find_sites
from gossamer.models.lowrank.timing import milliseconds_of, ranks_to_time, time_choices, time_models


def test_actions_run_in_turns():
    seen = []
    times = milliseconds_of([lambda: seen.append("a"), lambda: seen.append("b")], repeats=2)
    assert seen == ["a", "b"] * 3
    assert all(time >= 0 for time in times)


def test_every_choice_of_every_kind_is_timed():
    for model, inputs in ((SmallCNN(), image_batches()[0][0]), (SmallLanguageModel(), token_batches()[0][0])):
        sites = find_sites(model, scheme="spatial")
        calls = observe_uses(model, sites, ((inputs,), None))
        for site in sites:
            times = time_choices(site, factorise(site.to_matrix(site.weight)), calls, [1])
            assert times.shape == (2,)
            assert (times > 0).all()


def test_a_tied_output_without_a_module():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(7, 4)

        def forward(self, tokens):
            return nn.functional.linear(self.words(tokens), self.words.weight)

    model = Tied()
    sites = find_sites(model, scheme="spatial")
    calls = observe_uses(model, sites, ((torch.zeros(2, 3, dtype=torch.long),), None))
    assert np.isfinite(time_choices(sites[0], factorise(sites[0].to_matrix(sites[0].weight)), calls, [2])).all()


def test_ranks_worth_measuring():
    assert ranks_to_time(100, 3) == [1, 2, 3]
    assert ranks_to_time(512, 512)[-1] == 512
    assert len(ranks_to_time(512, 512)) == 8
    assert all(rank % 8 == 0 for rank in ranks_to_time(512, 512))


def test_models_are_timed_in_evaluation():
    model = nn.Dropout(0.5).train()
    assert len(time_models([model, model], ((torch.zeros(2),), None), repeats=1)) == 2
    assert model.training
