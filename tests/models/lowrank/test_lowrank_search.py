"""The search: gradients of masks through a network, budgets, and a planted answer that energies cannot see."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from masked_networks import masked, planted
from small_networks import SmallLanguageModel, token_batches, token_loss
from torch import nn
from torch.nn import functional

from gossamer.models.lowrank import search
from gossamer.models.lowrank.knapsack import allocate_exactly
from gossamer.models.lowrank.search import SearchSettings, allocate_cobla, cheapest_start, first_triplets


def test_mask_gradients_are_differences_of_the_loss():
    model = SmallLanguageModel().double()
    network, _ = masked(model, token_batches(), token_loss)
    rng = np.random.default_rng(0)
    masks = [rng.uniform(0.3, 1, size=factors.rank) for factors in network.factors]
    _, gradients = network.loss_and_gradients(masks, 0)
    for place, gradient in enumerate(gradients):
        for triplet in (0, len(gradient) - 1):
            losses = []
            for change in (1e-5, -1e-5):
                moved = [mask.copy() for mask in masks]
                moved[place][triplet] += change
                losses.append(network.loss_and_gradients(moved, 0)[0])
            assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(gradient[triplet], rel=1e-4, abs=1e-8)


def test_weights_and_statistics_come_back():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    data = [(torch.randn(6, 4), torch.randint(2, (6,)))]
    network, _ = masked(model, data, functional.cross_entropy, batch_statistics=True)
    network.loss_and_gradients([np.zeros(4), None], 0)
    network.restore()
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_the_search_sees_what_energies_cannot():
    network, problem = planted()
    start = [3, 3]
    settings = SearchSettings(iterations=25, polish=3, roundings=2, score_batches=2)
    found = allocate_cobla(network, problem, start, settings)
    assert problem.is_met(found.ranks)
    numbers = [40, 41]
    assert network.score(found.masks, numbers) < 0.6 * network.score(first_triplets(start, problem).masks, numbers)
    assert found.ranks[0] == 0 or found.ranks[0] > found.ranks[1]
    assert len(found.iterations) == 25


def test_the_search_starts_where_the_loss_is_least():
    network, problem = planted()
    assert cheapest_start(network, problem, [[3, 3], [1, 5], [5, 1]], SearchSettings()) == [5, 1]
    assert cheapest_start(network, problem, [[1, 5]], SearchSettings()) == [1, 5]


def test_a_charge_makes_masks_decide_themselves():
    undecided = []
    for binarise in (0.0, 20.0):
        network, problem = planted()
        settings = SearchSettings(iterations=20, binarise=binarise)
        found, _ = search._search(network, problem, first_triplets([3, 3], problem), settings)
        undecided.append(sum(float((masks * (1 - masks)).sum()) for masks in found))
    assert undecided[1] < 0.5 * undecided[0]


def test_exact_gradients_and_the_same_seed():
    network, problem = planted()
    settings = SearchSettings(iterations=3, polish=0, roundings=1, score_batches=1, exact_gradients=True)
    first, second = (allocate_cobla(network, problem, [3, 3], settings) for _ in range(2))
    assert first.ranks == second.ranks
    for one, other in zip(first.masks, second.masks, strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_to_search_where_all_is_whole():
    network, problem = planted()
    assert allocate_cobla(network, problem, [0, 0], SearchSettings()).ranks == [0, 0]


def test_first_triplets_of_the_exact_solution():
    _, problem = planted()
    allocation = first_triplets(allocate_exactly(problem), problem)
    assert all(kept is None or kept.tolist() == list(range(len(kept))) for kept in allocation.kept)


def test_a_loss_that_is_no_number_is_named():
    model = nn.Sequential(nn.Linear(2, 2))
    network, _ = masked(model, [(torch.zeros(3, 2), torch.zeros(3, 2))], lambda output, target: output)
    with pytest.raises(ValueError, match=r"loss must return one number as a tensor, got \(3, 2\)"):
        network.loss_and_gradients([np.ones(2)], 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"roundings": 0}, "roundings must be an integer >= 1, got 0"),
        ({"iterations": 0}, "iterations must be an integer >= 1, got 0"),
        ({"binarise": -1}, "binarise must be a finite number >= 0, got -1"),
    ],
)
def test_bad_settings_of_a_search_are_named(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchSettings(**arguments)
