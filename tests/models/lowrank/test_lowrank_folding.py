"""Batch norms that become part of the layer before them: the same answers, and none where that would be wrong."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gossamer import Budget, compress
from gossamer.models.lowrank import CompressedClassifier, load_compressed, prune, save_compressed
from gossamer.models.lowrank.folding import fold_like_, fold_norms_, folded_copy
from gossamer.networks.resnet import ResNet
from gossamer.testing.right_answers import two_patterns


def worn(model: nn.Module) -> nn.Module:
    """Return a model whose batch norms have statistics and factors of their own, in evaluation."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            if module.affine:
                nn.init.normal_(module.weight)
                nn.init.normal_(module.bias)
    return model.eval()


class Chain(nn.Module):
    """Convolution, batch norm and what is made of both: `after` sees the image between them, too."""

    def __init__(self, layer: nn.Module, norm: nn.Module, between: bool = False) -> None:
        super().__init__()
        self.layer, self.norm, self.between = layer, norm, between

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        response = self.layer(inputs)
        answer = self.norm(response)
        return answer + response if self.between else answer


@given(
    groups=st.sampled_from([1, 2]),
    bias=st.booleans(),
    affine=st.booleans(),
    kind=st.sampled_from(["conv1d", "conv2d", "linear"]),
    seed=st.integers(0, 100),
)
def test_answers_stay(groups, bias, affine, kind, seed):
    torch.manual_seed(seed)
    if kind == "linear":
        layer, norm, inputs = nn.Linear(4, 6, bias=bias), nn.BatchNorm1d(6, affine=affine), torch.randn(3, 4)
    elif kind == "conv1d":
        layer = nn.Conv1d(4, 6, 3, padding=1, groups=groups, bias=bias)
        norm, inputs = nn.BatchNorm1d(6, affine=affine), torch.randn(2, 4, 5)
    else:
        layer = nn.Conv2d(4, 6, 3, stride=2, groups=groups, bias=bias)
        norm, inputs = nn.BatchNorm2d(6, affine=affine), torch.randn(2, 4, 5, 5)
    model = worn(Chain(layer, norm)).double()
    inputs = inputs.double()
    whole = copy.deepcopy(model)
    assert fold_norms_(model, ((inputs,), None)) == (("layer", "norm"),)
    assert isinstance(model.norm, nn.Identity)
    torch.testing.assert_close(model(inputs), whole(inputs))


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (Chain(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), between=True), (2, 2, 4, 4)),  # something else sees it
        (Chain(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3, track_running_stats=False)), (2, 2, 4, 4)),
        (Chain(nn.Linear(4, 5), nn.BatchNorm1d(3)), (2, 3, 4)),  # channels are not the layer's outputs
        (nn.Sequential(nn.Conv2d(2, 2, 1), nn.ReLU(), nn.BatchNorm2d(2)), (2, 2, 4, 4)),
        (nn.BatchNorm2d(2), (2, 2, 4, 4)),
    ],
)
def test_some_batch_norms_stay(model, shape):
    inputs = torch.randn(shape)
    before = worn(model)(inputs)
    assert fold_norms_(model, ((inputs,), None)) == ()
    assert torch.equal(model(inputs), before)


def test_what_is_used_twice_stays():
    layer, norm = nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)
    model = worn(nn.Sequential(layer, norm, nn.ReLU(), layer, nn.BatchNorm2d(2), nn.Conv2d(2, 2, 1), norm))
    assert fold_norms_(model, ((torch.randn(2, 2, 4, 4),), None)) == ()


def test_a_residual_network_has_no_batch_norm_left():
    torch.manual_seed(0)
    model, images = worn(ResNet(8)).double(), torch.randn(2, 3, 32, 32).double()
    small = folded_copy(model, ((images,), None))
    assert not any(isinstance(module, nn.BatchNorm2d) for module in small.modules())
    assert any(isinstance(module, nn.BatchNorm2d) for module in model.modules())
    torch.testing.assert_close(small(images), model(images))


@pytest.mark.parametrize("fold", ["now", 1, None])
def test_folding_is_yes_no_or_later(fold):
    with pytest.raises(ValueError, match=f"fold must be True, False or 'later', got {fold!r}"):
        compress(nn.Linear(4, 4), data=[torch.randn(2, 4)], budget=Budget(macs=0.5), fold=fold)


@pytest.mark.parametrize("compressor", [compress, prune])
def test_compressed_and_folded_networks_are_kept(compressor, tmp_path):
    torch.manual_seed(0)
    model = worn(ResNet(8))
    data = [(torch.randn(8, 3, 32, 32), torch.randint(10, (8,))) for _ in range(2)]
    options = {"data": data, "budget": Budget(macs=0.7), "allocator": "pos_cvx"}
    small = compressor(model, fold=True, **options)
    plain = compressor(model, **options)
    torch.testing.assert_close(small(data[0][0]), plain(data[0][0]), rtol=1e-3, atol=1e-4)
    report = small.compression_report
    assert len(report.folded) == 7
    assert report.after["params"] < plain.compression_report.after["params"]
    assert report.after["params"] == sum(parameter.numel() for parameter in small.parameters())
    save_compressed(small, tmp_path / "small")
    again = load_compressed(ResNet(8), tmp_path / "small").eval()
    assert torch.equal(again(data[0][0]), small.eval()(data[0][0]))
    assert again.compression_report == report


def test_a_budget_of_time_knows_what_folding_saves(monkeypatch):
    seen = []

    def make_problem(sites, factors, totals, limits, calls, rows):
        seen.append(totals["milliseconds"])
        raise InterruptedError

    def time_models(models, batch, repeats=5):
        return [sum(isinstance(part, nn.BatchNorm1d) for part in model.modules()) + 10.0 for model in models]

    monkeypatch.setattr("gossamer.models.lowrank.attempts.make_problem", make_problem)
    monkeypatch.setattr("gossamer.models.lowrank.attempts.time_models", time_models)
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    for fold in (False, True, "later"):
        with pytest.raises(InterruptedError):
            compress(model, data=[torch.randn(4, 8)], budget=Budget(milliseconds=0.5), allocator="pos_cvx", fold=fold)
    assert seen == [11.0, 10.0, 10.0]


@pytest.mark.parametrize("epochs", [0, 2])
def test_a_classifier_is_folded_after_its_training_and_saved(epochs, tmp_path):
    parts = two_patterns()
    settings = {"hidden_dims": [16], "epochs": 5, "batch_size": 16, "search_rows": 16, "params": 0.7}
    settings |= {"allocator": "uniform", "fine_tune_epochs": epochs}
    model = CompressedClassifier(fold=True, **settings).fit(parts.train)
    plain = CompressedClassifier(**settings).fit(parts.train)
    np.testing.assert_allclose(model.predict_proba(parts.test), plain.predict_proba(parts.test), atol=1e-5)
    assert model.num_values() < plain.num_values()
    is_split = model.report_.layers[0].rank is not None
    assert model.report_.folded == (("1.1" if is_split else "1", "2"),)
    model.save(tmp_path / "model")
    again = CompressedClassifier.load(tmp_path / "model")
    assert (again.predict_proba(parts.test) == model.predict_proba(parts.test)).all()


def test_only_what_is_there_can_be_folded():
    with pytest.raises(ValueError, match="folded must name a layer and a batch norm of the network, got '0' and '2'"):
        fold_like_(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.ReLU()), [("0", "2")])
