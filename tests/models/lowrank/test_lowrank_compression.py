"""The door: every kind of network, every allocator, every budget, every mistake."""

from __future__ import annotations

import copy

import pytest
import torch
from small_networks import (
    SmallCNN,
    SmallLanguageModel,
    encoder,
    image_batches,
    token_batches,
    token_loss,
)
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence

from gossamer.core.remembering import remembering
from gossamer.models.lowrank import ALLOCATORS, Budget, SearchSettings, compress
from gossamer.models.lowrank.attempts import RULES
from gossamer.models.lowrank.counting import count_macs, count_params

QUICK = SearchSettings(iterations=2, polish=1, roundings=1, score_batches=1)


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_budgets_are_met_and_the_model_is_left_alone(allocator):
    model, data = SmallCNN(), image_batches()
    before = copy.deepcopy(model.state_dict())
    small = compress(
        model,
        data=data,
        budget=Budget(macs=0.6, params=0.6),
        loss=functional.cross_entropy,
        allocator=allocator,
        search=QUICK,
    )
    report = small.compression_report
    batch = ((data[0][0],), None)
    assert count_macs(small, batch) <= 0.6 * count_macs(model, batch)
    assert count_params(small) <= 0.6 * count_params(model)
    assert report.after["macs"] == count_macs(small, batch) / 4
    assert sum(layer.macs_after for layer in report.layers) == report.after["macs"]
    assert small.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("scheme", ["spatial", "channel"])
def test_networks_of_words(scheme):
    model, data = SmallLanguageModel(), token_batches()
    small = compress(
        model, data=data, budget=Budget(bytes=0.6), loss=token_loss, scheme=scheme, search=QUICK, recalibrate=False
    )
    assert small.compression_report.share("bytes") <= 0.6
    assert small(data[0][0]).shape == (3, 5, 30)
    if hasattr(small.words, "codes"):
        assert small.output.table.codes.weight is small.words.codes.weight


def test_attention():
    model = encoder()
    data = [(torch.randn(2, 3, 8), torch.randn(2, 3, 8)) for _ in range(2)]
    small = compress(model, data=data, budget=Budget(params=0.7), loss=functional.mse_loss, search=QUICK).eval()
    with torch.no_grad():
        assert small(data[0][0]).shape == (2, 3, 8)
    assert small.compression_report.share("params") <= 0.7


def test_a_full_budget_is_the_model():
    model, data = SmallLanguageModel().eval(), token_batches()
    small = compress(model, data=data, budget=Budget(params=1.0), allocator="pos_cvx")
    torch.testing.assert_close(small(data[0][0]), model(data[0][0]))
    assert isinstance(small.lstm, nn.LSTM)
    assert not small.training


def test_one_layer_alone_and_absolute_budgets():
    model, data = nn.Linear(16, 16), [torch.randn(4, 16)]
    small = compress(model, data=data, budget=Budget(macs=130, params=150), allocator="pos_cvx")
    assert [tuple(part.weight.shape) for part in small] == [(4, 16), (16, 4)]
    assert small.compression_report.limits == {"macs": 130.0, "params": 150.0}


def test_times_are_measured():
    model, data = nn.Sequential(nn.Linear(64, 64)), [torch.randn(4, 64)]
    small = compress(model, data=data, budget=Budget(milliseconds=1e6), allocator="pos_cvx")
    assert small.compression_report.after["milliseconds"] > 0
    with pytest.raises(ValueError, match="budget milliseconds must be at least"):
        compress(model, data=data, budget=Budget(milliseconds=1e-6), allocator="pos_cvx")


def test_costs_are_counted_and_timed_on_the_example():
    model, sizes = SmallCNN().eval(), []
    model.register_forward_pre_hook(lambda _module, inputs: sizes.append(len(inputs[0])))
    data = image_batches()
    of_batches = compress(model, data=data, budget=Budget(milliseconds=1e6), allocator="pos_cvx")
    assert sizes
    assert set(sizes) == {len(data[0][0])}  # a copy of the model, hooks and all, sees the batches, too
    sizes.clear()
    options = {"budget": Budget(milliseconds=1e6), "allocator": "pos_cvx", "fitted": False}
    one = compress(model, data=data, example=data[0][0][:1], recalibrate=False, **options)
    assert sizes[0] == len(data[0][0])  # whether the model can work on the data at all
    assert set(sizes[1:]) == {1}
    for name in ("macs", "params"):
        assert one.compression_report.before[name] == of_batches.compression_report.before[name]


def test_state_export_and_script(tmp_path):
    model, data = SmallCNN().eval(), image_batches()
    small = compress(model, data=data, budget=Budget(macs=0.6), allocator="pos_cvx")
    inputs = data[0][0]
    expected = small(inputs)
    again = copy.deepcopy(small)
    again.load_state_dict(small.state_dict())
    exported = torch.export.export(small, (inputs,)).module()
    torch.testing.assert_close(exported(inputs), expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_of_recurrent_networks():
    model, data = nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 8)), [torch.randint(9, (3, 4))]
    small = compress(model, data=data, budget=Budget(params=0.6), allocator="uniform").eval()
    torch.testing.assert_close(torch.jit.script(small)(data[0]), small(data[0]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_onnx(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model, data = SmallCNN().eval(), image_batches()
    model.circular = nn.Conv2d(12, 12, 3, padding=1)  # circular padding is not in the old exporter
    small = compress(model, data=data, budget=Budget(macs=0.6), allocator="pos_cvx")
    path = tmp_path / "small.onnx"
    torch.onnx.export(small, (data[0][0],), str(path), dynamo=False, input_names=["images"])
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (answer,) = session.run(None, {"images": data[0][0].numpy()})
    torch.testing.assert_close(torch.from_numpy(answer), small(data[0][0]).detach(), atol=1e-4, rtol=1e-3)


def test_packed_sequences_leave_a_network_whole():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(4, 8), nn.Linear(8, 8)

        def forward(self, inputs):
            _, (hidden, _) = self.lstm(pack_padded_sequence(inputs, torch.tensor([3, 2])))
            return self.head(hidden[0])

    small = compress(Packed(), data=[torch.randn(3, 2, 4)], budget=Budget(params=0.95), allocator="pos_cvx")
    assert isinstance(small.lstm, nn.LSTM)


def test_mistakes_are_named():
    model, data = SmallCNN(), image_batches()
    budget = Budget(macs=0.5)
    cases = [
        ({"model": 3}, "model must be an nn.Module, got int"),
        ({"budget": 0.5}, r"budget must be a Budget, such as Budget\(macs=0.5\), got 0.5"),
        ({"allocator": "best"}, "allocator must be one of 'cobla', 'pos_cvx'"),
        ({"scheme": "tucker"}, "scheme must be one of 'spatial', 'channel', got 'tucker'"),
        ({"fitted": "yes"}, "fitted must be True or False, got 'yes'"),
        ({"loss": "mse"}, r"loss must be a function of \(output, target\), or None for the model's answers, got 'mse'"),
        ({"calibration_batches": 0}, "calibration_batches must be an integer >= 1, got 0"),
        (
            {"budget": Budget(macs=0.01)},
            "budget macs must be at least .*, what the cheapest choice of every",
        ),
        ({"keep": ["*"]}, "model must have a Linear, .* layer to split, got circular kept by name; first kept by name"),
    ]
    for changed, message in cases:
        arguments = {"model": model, "data": data, "budget": budget, "loss": functional.cross_entropy, **changed}
        with pytest.raises(ValueError, match=message):
            compress(arguments.pop("model"), **arguments)


def test_models_without_layers_and_models_that_change():
    with pytest.raises(ValueError, match=r"model must have a Linear, .* layer to split, got none in ReLU"):
        compress(nn.ReLU(), data=[torch.zeros(2)], budget=Budget(params=0.5), allocator="pos_cvx")

    class Restless(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.passes = nn.Linear(4, 4), 0

        def forward(self, inputs):
            self.passes += 1
            for _ in range(self.passes):
                inputs = self.layer(inputs)
            return inputs

    with pytest.raises(ValueError, match="model must do the same at every pass over the same batch, got 160 and then"):
        compress(Restless(), data=[torch.zeros(2, 4)], budget=Budget(macs=0.9), allocator="pos_cvx")


def test_a_loss_that_is_nan_and_data_that_end():
    model, data = SmallCNN(), image_batches()
    with pytest.raises(FloatingPointError, match="loss must be finite, got nan"):
        compress(
            model,
            data=data,
            budget=Budget(macs=0.6),
            loss=lambda output, target: functional.cross_entropy(output, target) * float("nan"),
            search=QUICK,
        )
    with pytest.raises(ValueError, match=r"data must have .* batches, got 2 before it ended"):
        compress(
            model, data=iter(data[:2]), budget=Budget(macs=0.6), loss=functional.cross_entropy, search=SearchSettings()
        )


@pytest.mark.parametrize("fitted", [True, False])
def test_factors_that_are_remembered_are_those_that_would_be_fitted(fitted):
    model, data = SmallCNN(), image_batches()
    settings = {"data": data, "allocator": "pos_cvx", "fitted": fitted}
    budgets = [Budget(params=0.6), Budget(params=0.4)]
    alone = [compress(model, budget=budget, **settings) for budget in budgets]
    with remembering() as memory:
        together = [compress(model, budget=budget, **settings) for budget in budgets]
        assert len(memory.values["factors"]) == 1
        compress(model, budget=budgets[0], scheme="channel", **settings)
        compress(SmallCNN(), budget=budgets[0], **settings)
        assert len(memory.values["factors"]) == 3
    for one, other in zip(alone, together, strict=True):
        assert all(torch.equal(one.state_dict()[name], value) for name, value in other.state_dict().items())


@pytest.mark.parametrize("allocator", RULES)
def test_rules_as_is_look_at_weights_alone(allocator):
    torch.manual_seed(0)
    model = SmallCNN()
    settings = {"budget": Budget(params=0.6), "allocator": allocator, "fitted": False, "recalibrate": False}
    others = [(torch.randn(4, 3, 8, 8), torch.zeros(4, dtype=torch.long)) for _ in range(3)]
    first, second = (compress(model, data=data, **settings).state_dict() for data in (image_batches(), others))
    assert all(torch.equal(first[name], second[name]) for name in first)
