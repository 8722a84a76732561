"""Training on after compression: by answers, by a loss, and what is refused."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from gossamer.models.lowrank import Budget, class_distance, compress, fine_tune, prune
from gossamer.models.lowrank.answers import distance_to_answers
from gossamer.models.lowrank.fine_tuning import (
    CUT,
    DISTANCE_RATE,
    OTHER_RATE,
    SPIKE,
    _polyak_step,
    _tried,
    channels_last,
    steady_rate,
)


def _data(count=6, rows=32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, 3, 8, 8, generator=generator) for _ in range(count)]


def _network():
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.Conv2d(12, 12, 3, padding=1),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(48, 4),
    )
    with torch.no_grad():
        network.train()
        for batch in _data():
            network(batch)
    return network.eval()


def _small(network, **options):
    return compress(network, data=_data(), budget=Budget(params=0.4), allocator="pos_cvx", **options)


@torch.no_grad()
def _distance(network, whole):
    batch = torch.cat(_data(seed=9))
    return float((network(batch) - whole(batch)).square().mean())


def test_answers_come_nearer_and_nothing_else_changes():
    whole = _network()
    small = _small(whole, fitted=False, keep=["8"])
    before = copy.deepcopy((whole.state_dict(), small.state_dict()))
    tuned = fine_tune(small, data=_data(40), whole=whole, steps=120)
    assert _distance(tuned, whole) < 0.5 * _distance(small, whole)
    for kept, now in zip(before, (whole.state_dict(), small.state_dict()), strict=True):
        assert all(torch.equal(kept[name], now[name]) for name in kept)
    assert not any(module.training for network in (whole, small, tuned) for module in network.modules())
    assert tuned.compression_report == small.compression_report
    assert sum(p.numel() for p in tuned.parameters()) == sum(p.numel() for p in small.parameters())


def test_equal_seeds_give_equal_networks_and_modes_stay():
    whole = _network()
    small = _small(whole).train()
    first, second = (fine_tune(small, data=_data(), whole=whole, steps=5) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert all(module.training for module in first.modules())


def test_a_loss_teaches_what_the_whole_network_never_knew():
    whole = _network()
    data = [(batch, (batch[:, 0].mean(dim=(1, 2)) > 0).long()) for batch in _data(12)]
    tuned = fine_tune(_small(whole), data=data, loss=functional.cross_entropy, steps=150, learning_rate=0.05)
    inputs, classes = data[0]
    with torch.no_grad():
        assert (tuned(inputs).argmax(dim=1) == classes).float().mean() > 0.9


def test_classes_are_kept_where_scores_cannot_be():
    torch.manual_seed(0)
    whole, generator = nn.Linear(8, 8, bias=False), torch.Generator().manual_seed(0)
    with torch.no_grad():
        whole.weight.copy_(8 * torch.eye(8))
    data = [torch.eye(8)[torch.randint(8, (64,), generator=generator)] for _ in range(20)]
    small = nn.Sequential(nn.Linear(8, 2, bias=False), nn.Linear(2, 8))  # two numbers for eight scores

    @torch.no_grad()
    def agreement(network):
        return float((network(torch.eye(8)).argmax(dim=1) == torch.arange(8)).float().mean())

    settings = {"data": data, "whole": whole, "steps": 2000, "learning_rate": 0.1}
    assert agreement(fine_tune(small, loss=class_distance, **settings)) > agreement(fine_tune(small, **settings))


def test_pruned_networks_and_doubles_are_tuned():
    whole = _network().double()
    data = [batch.double() for batch in _data()]
    small = prune(whole, data=data, budget=Budget(params=0.6), allocator="pos_cvx")
    tuned = fine_tune(small, data=data, whole=whole, steps=40)
    with torch.no_grad():
        expected = whole(data[0])
        near, far = ((network(data[0]) - expected).square().mean() for network in (tuned, small))
    assert near.dtype == torch.float64
    assert near < far


def test_networks_with_several_outputs_and_tied_tables_are_tuned():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.layers = nn.Embedding(40, 16), nn.LSTM(16, 16, batch_first=True)
            self.scores = nn.Linear(16, 40)
            self.scores.weight = self.table.weight

        def forward(self, words):
            states, memory = self.layers(self.table(words))
            return {"scores": self.scores(states), "memory": memory}

    torch.manual_seed(0)
    whole, data = Words(), [torch.randint(40, (8, 6)) for _ in range(4)]
    small = compress(whole, data=data, budget=Budget(params=0.5), allocator="pos_cvx")
    tuned = fine_tune(small, data=data, whole=whole, steps=60)

    @torch.no_grad()
    def distance(network):
        return float((network(data[0])["scores"] - whole(data[0])["scores"]).square().mean())

    assert distance(tuned) < distance(small)
    assert sum(p.numel() for p in tuned.parameters()) == sum(p.numel() for p in small.parameters())


def test_frozen_parameters_stay():
    whole = _network()
    small = _small(whole)
    small[-1].requires_grad_(False)
    tuned = fine_tune(small, data=_data(), whole=whole, steps=3)
    for frozen, same in zip(small[-1].parameters(), tuned[-1].parameters(), strict=True):
        assert torch.equal(frozen, same)


def test_data_are_read_again_and_augmented_anew():
    class Augmented:
        readings = 0

        def __iter__(self):
            self.readings += 1
            return iter(_data(4, seed=self.readings))

    whole, data = _network(), Augmented()
    small = _small(whole)
    fine_tune(small, data=data, whole=whole, steps=10)
    assert data.readings == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"whole": None}, "whole, for its answers, or a loss must be given, got neither"),
        ({"whole": "net"}, "whole must be an nn.Module, the one that was compressed, got str"),
        ({"whole": None, "loss": 3}, "loss must be a function of"),
        ({"data": []}, "data must have at least one batch, got none"),
        ({"data": torch.zeros(3)}, "data must be an iterable of"),
        ({"data": iter(_data(2)), "steps": 3}, "data must have as many batches as there are steps, got 2 before"),
        ({"data": [torch.zeros(4, 5)]}, "data must be batches that the model can work on"),
        ({"steps": 0}, "steps must be an integer >= 1, got 0"),
        ({"learning_rate": -1.0}, "learning_rate must be"),
        ({"whole": None, "loss": functional.cross_entropy}, "data must be pairs .* for a loss to be computed"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(changed, message):
    whole = _network()
    settings = {"data": _data(2), "whole": whole, "steps": 2, **changed}
    with pytest.raises(ValueError, match=message):
        fine_tune(_small(whole), **settings)


def test_networks_that_cannot_be_trained_are_refused():
    whole = _network()
    small = _small(whole)
    with pytest.raises(ValueError, match=r"small must be an nn\.Module that compress returned, got int"):
        fine_tune(3, data=_data(), whole=whole)
    with pytest.raises(ValueError, match="whole must be the network that was compressed, got small itself"):
        fine_tune(small, data=_data(), whole=small)
    with pytest.raises(ValueError, match="got one with 2 of them folded; fine-tune what compress returns with fold="):
        fine_tune(_small(whole, fold=True), data=_data(), whole=whole)
    with pytest.raises(ValueError, match="small must have parameters that require a gradient"):
        fine_tune(small.requires_grad_(False), data=_data(), whole=whole)


def test_losses_that_cannot_be_minimised_are_refused_and_nothing_is_half_trained():
    whole = _network()
    small = _small(whole)
    before = copy.deepcopy(small.state_dict())
    data = [(batch, torch.zeros(len(batch), 4)) for batch in _data()]
    with pytest.raises(ValueError, match=r"loss must return one number as a tensor, got \(32, 4\)"):
        fine_tune(small, data=data, loss=lambda output, target: output - target)
    with pytest.raises(FloatingPointError, match="loss is nan at step 1"):
        fine_tune(small, data=data, loss=lambda output, target: (output * float("nan")).mean())
    assert all(torch.equal(before[name], value) for name, value in small.state_dict().items())


def test_kernels_have_channels_last_only_while_they_are_trained():
    network, batch = _network(), _data(1)[0]
    before, expected = copy.deepcopy(network.state_dict()), network(batch)
    with channels_last(network):
        assert network[3].weight.is_contiguous(memory_format=torch.channels_last)
        assert network[:4](batch).is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(network(batch), expected)
    assert all(
        value.is_contiguous() and torch.equal(value, before[name]) for name, value in network.state_dict().items()
    )


def test_kernels_are_laid_out_as_they_were_after_an_error():
    network = _network()
    with pytest.raises(ValueError, match="stop"), channels_last(network):
        raise ValueError("stop")
    assert network[3].weight.is_contiguous()


def _deep(scale=2.0):
    """A network without normalisation, whose answers grow with the tenth power of its weights."""
    torch.manual_seed(0)
    layers = [layer for _ in range(9) for layer in (nn.Linear(24, 24), nn.ReLU())]
    network = nn.Sequential(*layers, nn.Linear(24, 4))
    with torch.no_grad():
        for layer in network[::2]:
            layer.weight.mul_(scale)
    return network.eval()


def test_a_network_without_normalisation_is_not_thrown_away():
    whole, generator = _deep(), torch.Generator().manual_seed(1)
    data = [torch.randn(32, 24, generator=generator) for _ in range(20)]
    small = compress(whole, data=data, budget=Budget(params=0.6), allocator="pos_cvx")
    held = torch.randn(256, 24, generator=generator)

    def distance(network):
        with torch.no_grad():
            return float(distance_to_answers(network(held), whole(held)))

    assert steady_rate(small, ((data[0],), whole(data[0]).detach()), distance_to_answers) < DISTANCE_RATE / 10
    assert distance(fine_tune(small, data=data, whole=whole, steps=200)) < distance(small)
    usual = fine_tune(small, data=data, whole=whole, steps=200, learning_rate=DISTANCE_RATE)
    assert not distance(usual) < 2 * distance(small)  # what the usual rate does to it


def test_the_rate_is_the_usual_one_where_that_is_safe():
    torch.manual_seed(0)
    whole, data = nn.Linear(16, 16), [torch.randn(64, 16) for _ in range(3)]
    small = compress(whole, data=data, budget=Budget(params=0.6), allocator="pos_cvx")
    assert steady_rate(small, ((data[0],), whole(data[0]).detach()), distance_to_answers) == DISTANCE_RATE


def test_a_rate_that_polyak_allows_is_cut_where_momentum_makes_it_too_long():
    whole = _network()
    small, batch = _small(whole), _data(1)[0]
    asked = ((batch,), whole(batch).detach())
    losses = _tried(small, asked, distance_to_answers, DISTANCE_RATE)
    assert _polyak_step(small, asked, distance_to_answers) > DISTANCE_RATE
    assert losses[-1] > losses[0]
    rate = steady_rate(small, asked, distance_to_answers)
    assert rate in {DISTANCE_RATE / CUT**power for power in range(1, 5)}
    losses = _tried(small, asked, distance_to_answers, rate)
    assert losses[-1] < losses[0]
    tuned = [fine_tune(small, data=_data(40), whole=whole, steps=120, learning_rate=r) for r in (DISTANCE_RATE, rate)]
    assert _distance(tuned[1], whole) < _distance(small, whole) < _distance(tuned[0], whole)


@pytest.mark.parametrize("scale", [1.5, 2.0, 3.0, 4.0])
def test_a_rate_that_polyak_bounds_is_tried_like_any_other(scale):
    """On a NIN at a fifth it was not, by a rounding, and ten steps took the distance to four times what it was."""
    whole, generator = _deep(scale), torch.Generator().manual_seed(1)
    data = [torch.randn(32, 24, generator=generator) for _ in range(4)]
    small = compress(whole, data=data, budget=Budget(params=0.6), allocator="pos_cvx")
    asked = ((data[0],), whole(data[0]).detach())
    bound = _polyak_step(small, asked, distance_to_answers)
    rate = steady_rate(small, asked, distance_to_answers)
    losses = _tried(small, asked, distance_to_answers, rate)
    assert rate <= bound
    assert losses[-1] <= losses[0]
    assert max(losses) <= SPIKE * losses[0]


def test_a_rate_is_cut_that_throws_the_network_away_and_still_ends_lower():
    """On a NIN at a tenth of its cost one answer to everything was nearer to the whole network's than it had begun."""
    whole, generator = _deep(3.0), torch.Generator().manual_seed(2)
    data = [torch.randn(32, 24, generator=generator) for _ in range(40)]
    small = compress(whole, data=data[:4], budget=Budget(params=0.15), allocator="pos_cvx")
    asked = ((data[0],), whole(data[0]).detach())
    losses = _tried(small, asked, distance_to_answers, DISTANCE_RATE)
    assert losses[-1] < losses[0] < max(losses) / 10
    rate = steady_rate(small, asked, distance_to_answers)
    assert rate < DISTANCE_RATE < _polyak_step(small, asked, distance_to_answers)
    tuned, thrown = (fine_tune(small, data=data, whole=whole, steps=80, learning_rate=one) for one in (rate, 0.1))
    held = torch.randn(256, 24, generator=generator)
    with torch.no_grad():
        distances = [float(distance_to_answers(network(held), whole(held))) for network in (small, tuned, thrown)]
    assert distances[1] < min(distances[0], distances[2])


@pytest.mark.parametrize("shift", [0.0, -5.0])
def test_a_loss_that_is_zero_or_negative_has_the_usual_rate(shift):
    network = nn.Linear(3, 2)
    batch = ((torch.randn(4, 3),), torch.zeros(4, 2))
    assert steady_rate(network, batch, lambda output, _: output.square().mean() * 0.0 + shift) == OTHER_RATE


def test_looking_for_the_rate_changes_nothing():
    network = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2)).train()
    before, state = copy.deepcopy(network.state_dict()), torch.get_rng_state()
    rates = [steady_rate(network, ((torch.ones(4, 3) * 9,), torch.zeros(4, 2)), functional.mse_loss) for _ in range(2)]
    assert rates[0] == rates[1]
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())
    assert all(module.training for module in network.modules())
