"""Batch norms folded once a network has been trained on: promised the time of that, trained as if nothing were."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gossamer import Budget, compress
from gossamer.models.lowrank import fine_tune, fold_norms, load_compressed, prune, save_compressed
from gossamer.networks.resnet import ResNet


def _images(rows: int = 8) -> torch.Tensor:
    return torch.randn(rows, 3, 32, 32)


@pytest.mark.parametrize("compressor", [compress, prune])
def test_compressed_trained_folded_and_kept(compressor, tmp_path):
    torch.manual_seed(0)
    whole, data = ResNet(8).eval(), [_images() for _ in range(2)]
    small = compressor(whole, data=data, budget=Budget(macs=0.7), allocator="pos_cvx", fold="later")
    assert any(isinstance(module, nn.BatchNorm2d) for module in small.modules())
    assert small.compression_report.folded == ()
    tuned = fine_tune(small, data=data, whole=whole, steps=3).eval()
    folded = fold_norms(tuned, example=data[0])
    assert not any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
    assert any(isinstance(module, nn.BatchNorm2d) for module in tuned.modules())
    torch.testing.assert_close(folded(data[0]), tuned(data[0]), rtol=1e-3, atol=1e-3)
    report = folded.compression_report
    assert len(report.folded) == 7
    assert report.after["params"] == sum(parameter.numel() for parameter in folded.parameters())
    assert report.after["macs"] == tuned.compression_report.after["macs"]
    save_compressed(folded, tmp_path / "folded")
    again = load_compressed(ResNet(8), tmp_path / "folded").eval()
    assert torch.equal(again(data[0]), folded(data[0]))


def test_times_are_those_of_the_folded_network(monkeypatch):
    def time_models(models, batch, repeats=5):
        return [sum(isinstance(part, nn.BatchNorm2d) for part in model.modules()) + 1.0 for model in models]

    monkeypatch.setattr("gossamer.models.lowrank.attempts.time_models", time_models)
    options = {"data": [_images(2)], "budget": Budget(macs=0.7), "allocator": "pos_cvx"}
    taken = [
        compress(ResNet(8), fold=fold, **options).compression_report.after["milliseconds"]
        for fold in (False, True, "later")
    ]
    assert taken == [8.0, 1.0, 1.0]


def test_any_network_can_be_folded():
    torch.manual_seed(0)
    network, images = ResNet(8).eval(), _images(2)
    folded = fold_norms(network, example=images)
    assert not hasattr(folded, "compression_report")
    torch.testing.assert_close(folded(images), network(images), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("network", "example", "message"),
    [
        (3, torch.zeros(2, 3), r"network must be an nn\.Module, got int"),
        (nn.Linear(3, 4), 5, r"example must have a tensor among the inputs, got \['int'\]"),
        (nn.Linear(3, 4), torch.zeros(2, 5), "example must be "),
    ],
)
def test_mistakes_are_told(network, example, message):
    with pytest.raises(ValueError, match=message):
        fold_norms(network, example=example)


def test_inference_mode_is_refused():
    with torch.inference_mode(), pytest.raises(ValueError, match=r"got torch\.inference_mode\(\); call it outside"):
        fold_norms(nn.Linear(3, 4), example=torch.zeros(2, 3))
