"""Layers: every stored number once, pairs with their rank, arrays where there is no network."""

from __future__ import annotations

import pytest
from torch import nn

from gossamer.metrics.size import count_values
from gossamer.serving.explorer.layers import look_inside


@pytest.mark.parametrize("name", ["network", "topics", "codes", "communities"])
def test_layers_add_up_to_the_network(known, name):
    found = look_inside(known[name].estimator)
    assert found.is_network
    assert found.values == count_values(known[name].estimator.network_)
    assert sum(layer.share for layer in found.layers) == pytest.approx(1)
    assert len({layer.name for layer in found.layers}) == len(found.layers)


def test_a_compressed_network_shows_pairs_and_ranks(known):
    found = look_inside(known["network"].estimator)
    report = known["network"].estimator.report_
    split = {change.names[0]: change for change in report.layers if change.rank is not None}
    assert split
    shown = {layer.name: layer for layer in found.layers}
    for name, change in split.items():
        assert shown[name].rank == f"{change.rank} of {change.full_rank}"
        assert shown[name].before == change.params_before
        assert next(weight.shape for weight in shown[name].weights if len(weight.shape) == 2)[0] == change.rank
        assert f" → {change.rank} → " in shown[name].flow
    assert found.before == report.before["params"]
    assert "of parameters left" in found.note


def test_models_without_a_network_show_their_arrays(known):
    found = look_inside(known["ease"].estimator)
    assert not found.is_network
    assert [(layer.name, layer.flow) for layer in found.layers] == [("popularity", "20"), ("weights", "20×20")]
    assert found.bytes == 4 * 420


def test_tied_weights_count_once_and_steps_without_weights_are_shown():
    class Tied:
        def __init__(self) -> None:
            first = nn.Linear(3, 3, bias=False)
            second = nn.Linear(3, 3, bias=False)
            second.weight = first.weight
            self.network_ = nn.Sequential(first, nn.ReLU(), second, nn.BatchNorm1d(3))

    found = look_inside(Tied())
    assert [layer.kind for layer in found.layers] == ["Linear", "ReLU", "Linear", "BatchNorm1d"]
    assert [layer.values for layer in found.layers] == [9, 0, 0, 3 * 4 + 1]
