"""What may not be compressed, or not in this way, is told in a sentence; nothing of the user's is changed."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.models.lowrank.small_networks import SmallCNN, image_batches
from torch import nn
from torch.nn.utils import parametrizations

from gossamer import Budget, compress
from gossamer.models.lowrank import SearchSettings, prune

SHORT = SearchSettings(iterations=2, polish=2)


def small_network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))


def batches(*shape: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(*shape, generator=generator) for _ in range(3)]


def refuses(match: str, model: nn.Module, data: object, budget: Budget | None = None, **options: object) -> None:
    options = {"allocator": "pos_cvx", **options}
    with pytest.raises(ValueError, match=match):
        compress(model, data=data, budget=budget or Budget(params=0.6), **options)


class Listed(nn.Module):
    """Layers that are modules, but are called from a list."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(32, 32) for _ in range(3)]
        for number, layer in enumerate(self.layers):
            self.add_module(f"layer{number}", layer)

    def forward(self, inputs):
        for layer in self.layers:
            inputs = torch.tanh(layer(inputs))
        return inputs


class Asking(nn.Module):
    """A model that reads from a layer what only that kind of layer has."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(8, 8, batch_first=True)

    def forward(self, inputs):
        return self.layer(inputs.to(self.layer.weight_ih_l0.dtype))[0]


class Changing(nn.Module):
    """A model that works in its input's place, and counts its passes."""

    def __init__(self, *, in_place: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.in_place = in_place
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, inputs):
        self.passes += 1
        if self.in_place:
            inputs -= 1.0
        return self.layer(inputs)


def test_a_layer_that_is_called_from_a_list_is_named():
    refuses("model must call layer0 as a module of its own, .* name that layer in keep", Listed(), batches(8, 32))


def test_a_layer_that_is_asked_for_more_is_told():
    refuses(
        "must not ask a layer for more than its answer, got AttributeError: .*weight_ih_l0", Asking(), batches(4, 5, 8)
    )


def test_a_layer_with_hooks_stays():
    model = small_network()
    model[0].register_forward_hook(lambda module, inputs, output: 3 * output)
    small = compress(model, data=batches(8, 32), budget=Budget(params=0.8), allocator="pos_cvx")
    assert [layer.stayed for layer in small.compression_report.layers] == ["has hooks", None]
    recurrent = nn.LSTM(8, 8)
    recurrent.register_forward_hook(lambda module, inputs, output: output)
    refuses("model must have a Linear", nn.Sequential(recurrent), batches(4, 5, 8))


def test_complex_weights_stay():
    layer = nn.Linear(16, 16, dtype=torch.complex64)
    refuses("the model has complex numbers", layer, [torch.randn(8, 16, dtype=torch.complex64)])


def test_inputs_are_never_changed():
    data = batches(8, 32)
    before = copy.deepcopy(data)
    refuses("model must not change its inputs in place", Changing(in_place=True), data)
    assert all(map(torch.equal, data, before))


def test_passes_leave_no_trace():
    model = Changing(in_place=False)
    small = compress(model, data=batches(8, 32), budget=Budget(params=0.8), search=SHORT)
    assert model.passes == small.passes == 0


def test_a_lazy_layer_stays_lazy():
    model = nn.Sequential(nn.LazyLinear(32), nn.ReLU(), nn.Linear(32, 32))
    small = compress(model, data=batches(8, 32), budget=Budget(params=0.8), allocator="pos_cvx")
    assert isinstance(model[0], nn.LazyLinear)
    assert small(batches(8, 32)[0]).shape == (8, 32)


def test_every_module_stays_in_its_mode():
    model = SmallCNN().train()
    model.norm.eval()
    model.train = lambda mode=True: None  # a train() that returns nothing is no reason to return nothing
    small = compress(model, data=image_batches(), budget=Budget(params=0.7), allocator="pos_cvx")
    assert small.first.training
    assert not small.norm.training


@pytest.mark.parametrize("compressor", [compress, prune])
def test_at_the_full_budget_nothing_changes(compressor):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3)).eval()
    data = [2 * images + 1 for images in batches(4, 3, 9, 9)]
    whole = compressor(model, data=data, budget=Budget(macs=1.0), allocator="pos_cvx")
    torch.testing.assert_close(whole(data[0]), model(data[0]))
    assert not whole.compression_report.recalibrated
    compressor(model, data=data, budget=Budget(params=10**6), search=SHORT)  # there is nothing to search, either


def test_a_full_share_is_full_also_of_batches_that_do_not_divide():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(32, 32), nn.Linear(16, 32)

        def forward(self, left, right):
            return self.first(left).sum(dim=0) + self.second(right).sum(dim=0)

    data = [((torch.randn(6, 32), torch.randn(5, 16)), 0)]
    whole = compress(Two(), data=data, budget=Budget(macs=1.0), allocator="pos_cvx")
    assert all(layer.rank is None for layer in whole.compression_report.layers)


def test_attention_that_shares_a_weight_stays():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (nn.MultiheadAttention(16, 4, batch_first=True) for _ in range(2))
            self.second.in_proj_weight = self.first.in_proj_weight
            self.head = nn.Linear(16, 16)

        def forward(self, inputs):
            inputs = self.first(inputs, inputs, inputs)[0]
            return self.head(self.second(inputs, inputs, inputs)[0])

    model = Shared()
    small = compress(model, data=batches(4, 6, 16), budget=Budget(params=0.95), allocator="pos_cvx")
    count = sum(parameter.numel() for parameter in model.parameters())
    assert sum(parameter.numel() for parameter in small.parameters()) <= 0.95 * count


@pytest.mark.parametrize("name", ["weight_ih_l0", "weight_hh_l0"])
def test_recurrent_weights_that_are_computed_stay(name):
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = parametrizations.weight_norm(nn.LSTM(8, 8), name), nn.Linear(8, 8)

        def forward(self, inputs):
            return self.head(self.lstm(inputs)[0])

    small = compress(Normed(), data=batches(4, 5, 8), budget=Budget(params=0.97), allocator="pos_cvx")
    assert isinstance(small.lstm, nn.LSTM)


def test_attention_that_is_computed_stays():
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.head = nn.MultiheadAttention(16, 4), nn.Linear(16, 16)
            parametrizations.weight_norm(self.attention.out_proj)

        def forward(self, inputs):
            return self.head(self.attention(inputs, inputs, inputs)[0])

    small = compress(Normed(), data=batches(4, 5, 16), budget=Budget(params=0.95), allocator="pos_cvx")
    assert isinstance(small.attention, nn.MultiheadAttention)
    assert "parametrizations" in dict(small.attention.out_proj.named_children())


def test_weights_that_are_not_finite_are_named():
    for compressor in (compress, prune):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3))
        model[2].weight.data[0] = float("nan")
        with pytest.raises(ValueError, match=r"weights of the model must be finite, got NaN or infinity in 2.weight"):
            compressor(model, data=batches(2, 3, 9, 9), budget=Budget(params=0.7), allocator="pos_cvx")


def test_data_that_are_not_finite_are_told():
    images = [torch.full((2, 3, 9, 9), float("nan"))]
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3))
    with pytest.raises(FloatingPointError, match="inputs of 3 must be finite"):
        prune(model, data=images, budget=Budget(params=0.7), allocator="pos_cvx")
    with pytest.raises(FloatingPointError, match="inputs of batch norms must be finite"):
        compress(model, data=images, budget=Budget(params=0.7), allocator="pos_cvx", fitted=False)


def test_batches_that_do_not_fit_are_told():
    model = small_network()
    refuses(
        r"data must be batches that the model can work on, .* got inputs float32\(8, 31\) and", model, batches(8, 31)
    )
    refuses(r"got inputs float32\(8, 32\), int64\(8,\)", model, [((torch.zeros(8, 32), torch.zeros(8).long()), 0)])
    refuses(r"example must be batches that", model, batches(8, 32), example=torch.zeros(1, 5))
    refuses("data must have at least one row in a batch", model, [torch.zeros(0, 32)])
    refuses("example must have at least one row in a batch", model, batches(8, 32), example=torch.zeros(0, 32))
    refuses("on the meta device|on meta", small_network().to("meta"), [torch.zeros(8, 32, device="meta")])


def test_what_else_a_caller_may_get_wrong():
    model, data = small_network(), batches(8, 32)
    refuses("search must be SearchSettings, got 5", model, data, search=5)
    refuses("keep must be a list of patterns, got None", model, data, keep=None)
    refuses(r"keep must be a list of patterns, got \[0\]", model, data, keep=[0])
    with torch.inference_mode():
        refuses("call it outside of that", model, data)
    no_gradient = [(inputs, torch.zeros(8, 32)) for inputs in data]
    refuses(
        "loss must depend on the model's weights by a gradient",
        model,
        no_gradient,
        allocator="cobla",
        search=SHORT,
        loss=lambda output, target: torch.tensor(1.0),
    )


def test_the_least_budget_is_told_per_example():
    with pytest.raises(ValueError, match=r"budget macs must be at least 128, .* got 20"):
        compress(small_network(), data=batches(64, 32), budget=Budget(macs=0.01), allocator="pos_cvx")


def test_names_of_parts_and_of_a_lone_layer():
    network = nn.Sequential(nn.Linear(16, 16), nn.GRU(16, 16))
    small = compress(network, data=batches(3, 4, 16), budget=Budget(params=0.95), keep=["1"], allocator="pos_cvx")
    assert isinstance(small[1], nn.GRU)
    asked = nn.Sequential(nn.Linear(8, 8), Asking())
    small = compress(asked, data=batches(4, 5, 8), budget=Budget(params=0.97), keep=["1.layer"], allocator="pos_cvx")
    assert isinstance(small[1].layer, nn.LSTM)
    refuses("Linear kept by name|the model kept by name", nn.Linear(16, 16), batches(4, 16), keep=["Linear"])


def test_one_vector_a_dictionary_and_a_keyword():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.token = nn.Linear(16, 16), nn.Parameter(torch.randn(16))

        def forward(self, batch):
            return self.layer(batch["inputs"]) + self.layer(self.token)

    data = [{"inputs": torch.randn(8, 16)} for _ in range(3)]
    small = compress(Words(), data=data, budget=Budget(macs=0.8), search=SHORT)
    assert small(data[0]).shape == (8, 16)


def test_packed_sequences_may_come_by_keyword():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 8)

        def forward(self, inputs):
            packed = nn.utils.rnn.pack_padded_sequence(inputs, torch.tensor([5, 3]), batch_first=True)
            return self.head(self.lstm(input=packed)[1][0])

    small = compress(Packed(), data=batches(2, 5, 8), budget=Budget(params=0.97), allocator="pos_cvx")
    assert isinstance(small.lstm, nn.LSTM)


def test_subclasses_are_split_and_timed_as_what_they_are():
    class MyLinear(nn.Linear):
        pass

    class MyRow(nn.Conv1d):
        pass

    model = nn.Sequential(MyRow(16, 64, 3), nn.ReLU(), nn.Flatten(), MyLinear(64 * 8, 256))
    small = compress(model, data=batches(4, 16, 10), budget=Budget(params=0.5), allocator="pos_cvx")
    assert small(batches(4, 16, 10)[0]).shape == (4, 256)
    compress(model, data=batches(4, 16, 10), budget=Budget(milliseconds=10**6), allocator="pos_cvx")
