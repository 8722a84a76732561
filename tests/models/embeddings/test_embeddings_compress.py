"""Tables are found wherever they are and replaced; nothing else in a model changes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.compress import compress_embeddings_
from gossamer.models.embeddings.replacements import TableBag, TiedLinear
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.networks.lstm import LSTMLanguageModel
from gossamer.networks.matrix_factorisation import MatrixFactorisation
from gossamer.networks.text_cnn import TextCNN

V, D = 600, 20


def vectors(num_rows: int = V, rank: int = 3) -> Tensor:
    """A table that few anchors explain."""
    generator = torch.Generator().manual_seed(7)
    parts = torch.rand(num_rows, rank, generator=generator), torch.randn(rank, D, generator=generator)
    return parts[0] @ parts[1]


def embedding(num_rows: int = V, **options: Any) -> nn.Embedding:
    made = nn.Embedding(num_rows, D, **options)
    with torch.no_grad():
        made.weight.copy_(vectors(num_rows))
        if made.padding_idx is not None:
            made.weight[made.padding_idx] = 0
    return made


class Encoder(nn.Module):
    """A module as anybody writes it: containers, a norm with buffers, a tied decoder, a list of heads."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleDict({"word": embedding(padding_idx=0), "kind": nn.Embedding(2, D)})
        self.blocks = nn.ModuleList([nn.Sequential(OrderedDict(norm=nn.BatchNorm1d(D), mix=nn.Linear(D, D)))])
        self.decoder = nn.Linear(D, V)
        self.decoder.weight = self.tables["word"].weight
        self.heads = nn.ModuleList([nn.Linear(D, 2), nn.Identity()])

    def forward(self, words: Tensor, kinds: Tensor) -> Tensor:
        hidden: Tensor = self.tables["word"](words) + self.tables["kind"](kinds)
        for block in self.blocks:
            hidden = block(hidden)
        return self.decoder(hidden)


def untouched(model: nn.Module) -> dict[str, Tensor]:
    tables = (EmbeddingTable, TiedLinear, nn.Embedding)
    inside = [name for name, module in model.named_modules() if isinstance(module, tables) and name != "decoder"]
    state = model.state_dict(keep_vars=True)
    return {name: state[name] for name in state if not name.startswith((*(f"{name}." for name in inside), "decoder."))}


def test_only_the_tables_of_a_module_change() -> None:
    model = Encoder().eval()
    model.heads[0].weight.requires_grad_(False)
    bias, kinds = model.decoder.bias, model.tables["kind"]
    before = {name: (tensor, tensor.clone()) for name, tensor in untouched(model).items()}
    words, which = torch.randint(0, V, (8,)), torch.randint(0, 2, (8,))
    expected = model(words, which)

    report = compress_embeddings_(model, ratio=4)

    table = model.tables["word"]
    assert isinstance(table, AnchorEmbedding)
    assert table.padding_idx == 0
    assert isinstance(model.decoder, TiedLinear)
    assert model.decoder.table is table
    assert model.decoder.bias is bias
    assert model.tables["kind"] is kinds
    after = untouched(model)
    assert set(after) == set(before)
    for name, (tensor, content) in before.items():
        assert after[name] is tensor
        torch.testing.assert_close(tensor, content, rtol=0, atol=0)
    assert not any(module.training for module in model.modules())
    assert not model.heads[0].weight.requires_grad
    torch.testing.assert_close(model(words, which), expected, rtol=0.2, atol=0.4)
    assert [change.names for change in report.tables] == [("tables.word", "decoder"), ("tables.kind",)]
    assert report.tables[1].stayed == "fewer than 10,000 numbers"
    assert report.tables[0].values_after == table.num_values() <= V * D / 4
    assert report.tables[0].error < 0.2
    assert "tables.word, decoder" in str(report)


def test_a_compressed_model_trains_with_the_same_optimisers() -> None:
    model = Encoder()
    compress_embeddings_(model, ratio=4)
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    words, kinds = torch.randint(0, V, (64,)), torch.zeros(64, dtype=torch.long)
    losses = []
    for _ in range(8):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(words, kinds), words)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_a_second_call_changes_nothing() -> None:
    model = Encoder()
    first = compress_embeddings_(model, ratio=4)
    table, state = model.tables["word"], {name: tensor.clone() for name, tensor in model.state_dict().items()}
    second = compress_embeddings_(model, ratio=4)
    assert model.tables["word"] is table
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, state[name], rtol=0, atol=0)
    (change,) = [change for change in second.tables if change.stayed == "compressed already"]
    assert change.values_before == change.values_after == first.tables[0].values_after


class Twins(nn.Module):
    """One embedding under two names, another that shares its weight, in nested containers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = embedding()
        self.inner = nn.Sequential(nn.ModuleDict({"again": self.first}))
        self.second = nn.Embedding(V, D)
        self.second.weight = self.first.weight


def test_a_shared_table_is_replaced_once_everywhere() -> None:
    model = Twins()
    report = compress_embeddings_(model, ratio=4)
    assert isinstance(model.first, AnchorEmbedding)
    assert model.inner[0]["again"] is model.first
    assert model.second is model.first
    assert len(report.tables) == 1
    assert report.tables[0].names == ("first", "second")
    assert sum(parameter.numel() for parameter in model.parameters()) <= V * D / 4


def test_bags_are_replaced() -> None:
    model = nn.Sequential(nn.EmbeddingBag.from_pretrained(vectors(), mode="mean", freeze=False, padding_idx=3))
    ids = torch.tensor([[1, 3, 5], [3, 3, 3], [7, 8, 9]])
    expected = model(ids)
    compress_embeddings_(model, ratio=3)
    assert isinstance(model[0], TableBag)
    torch.testing.assert_close(model(ids), expected, rtol=0.3, atol=0.3)
    assert not model(ids)[1].any()


def test_the_networks_of_the_house_are_compressed() -> None:
    tokens = torch.randint(0, V, (4, 9))
    classifier = TextCNN(embedding(padding_idx=0), 3).eval()
    language = LSTMLanguageModel(embedding(), hidden_dim=D).eval()
    ratings = MatrixFactorisation(embedding(), embedding())
    for model, inputs in ((classifier, (tokens,)), (language, (tokens,)), (ratings, (tokens[0], tokens[1]))):
        expected = model(*inputs)
        report = compress_embeddings_(model, ratio=4)
        assert report.values_after <= report.values_before / 4
        answer = model(*inputs)
        for new, old in zip(
            *((one if isinstance(one, tuple) else (one,))[:1] for one in (answer, expected)), strict=True
        ):
            assert torch.corrcoef(torch.stack([new.ravel(), old.ravel()]))[0, 1] > 0.9
    assert isinstance(ratings.users, AnchorEmbedding)
    assert ratings.items is not ratings.users


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_dtype_mode_and_frozen_weights_carry_over(dtype: torch.dtype) -> None:
    model = nn.Sequential(embedding(sparse=True)).to(dtype)
    model[0].weight.requires_grad_(False)
    model[0].eval()
    compress_embeddings_(model, ratio=4)
    assert model.training
    assert not model[0].training
    assert model[0].sparse
    assert model[0](torch.tensor([1])).dtype == dtype
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_hooks_carry_over() -> None:
    model = Encoder()
    calls: list[str] = []
    model.tables["word"].register_forward_hook(lambda *_: calls.append("word"))
    model.decoder.register_forward_pre_hook(lambda *_: calls.append("decoder"))
    model.blocks[0].register_forward_hook(lambda *_: calls.append("block"))
    compress_embeddings_(model, ratio=4)
    model(torch.tensor([1, 2]), torch.tensor([0, 1]))
    assert calls == ["word", "block", "decoder"]


def test_a_padding_row_that_is_not_zero_keeps_its_vector() -> None:
    model = nn.Sequential(nn.Embedding.from_pretrained(vectors(), padding_idx=4))
    compress_embeddings_(model, ratio=4)
    assert model[0].padding_idx is None
    assert model[0](torch.tensor([4])).any()


@pytest.mark.parametrize("method", ["dense", "lowrank", "quotient-remainder"])
def test_other_methods_have_their_names(method: str) -> None:
    model = nn.Sequential(embedding())
    compress_embeddings_(model, ratio=1 if method == "dense" else 3, method=method)
    assert model[0].method == method


def test_options_and_counts_reach_the_method() -> None:
    model = nn.Sequential(embedding(), embedding())
    compress_embeddings_(model, None, include=["0"], num_anchors=7, num_slots=2)
    assert (model[0].num_anchors, model[0].num_slots) == (7, 2)
    compress_embeddings_(model, 6, "frequency", counts={"1": np.arange(V)})
    assert not model[1](torch.arange(V // 2)).any()
    assert model[1](torch.tensor([V - 1])).any()


class Scaled(nn.Embedding):
    """A subclass whose forward does more."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) * 3


class Holder(nn.Module):
    """Somebody else's use of a table's weight."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        self.table = table
        self.projection = nn.Bilinear(1, 1, 1)
        self.projection.weight = table.weight


def two_with_hooks() -> nn.Module:
    model = Twins()
    for module in (model.first, model.second):
        module.register_forward_hook(lambda *_: None)
    return model


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (nn.Sequential(Scaled(V, D)), "0 has a forward of its own"),
        (nn.Sequential(embedding(max_norm=1.0)), "0 has max_norm"),
        (nn.Sequential(embedding(scale_grad_by_freq=True)), "0 has scale_grad_by_freq"),
        (nn.Sequential(nn.EmbeddingBag(V, D, mode="max")), "0 takes the maximum"),
        (nn.Sequential(parametrizations.weight_norm(embedding())), "the weight of 0 is computed"),
        (Holder(embedding()), "projection holds its weight, too"),
        (two_with_hooks(), "first and second have hooks"),
    ],
)
def test_what_cannot_be_replaced_faithfully_stays(model: nn.Module, reason: str) -> None:
    before = dict(model.named_modules())
    (change,) = compress_embeddings_(model, ratio=4).tables
    assert change.stayed == reason
    assert change.values_before == change.values_after == V * D
    assert dict(model.named_modules()) == before


def test_included_tables_may_be_small_and_others_stay() -> None:
    model = nn.ModuleDict({"small": embedding(100), "large": embedding()})
    report = compress_embeddings_(model, ratio=2, include=["small"])
    assert isinstance(model["small"], AnchorEmbedding)
    assert isinstance(model["large"], nn.Embedding)
    assert [change.stayed for change in report.tables] == [None, "not included"]


def test_a_failure_leaves_the_model_as_it_was() -> None:
    model = nn.Sequential(embedding(), embedding())
    with torch.no_grad():
        model[1].weight[5, 2] = torch.nan
    tables = list(model)
    with pytest.raises(ValueError, match="1 cannot be compressed: weight must be finite, got NaN or infinity in row 5"):
        compress_embeddings_(model, ratio=4)
    assert list(model) == tables


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (
            nn.Sequential(nn.Linear(2, 2)),
            {},
            "model must have an nn.Embedding or nn.EmbeddingBag, got none in Sequential",
        ),
        (embedding(), {}, "model must hold its tables in submodules, got an Embedding itself; use AnchorEmbedding"),
        (nn.Sequential(embedding()), {"ratio": 0.5}, "ratio must be a finite number >= 1, got 0.5"),
        (nn.Sequential(embedding()), {"method": "zip"}, "method must be one of .*'lowrank'.* got 'zip'"),
        (
            nn.Sequential(embedding()),
            {"include": ["words"]},
            "include must name tables of the model, of 0; got 'words'",
        ),
        (nn.Sequential(embedding()), {"counts": {"1": 0}}, "counts must name tables of the model, of 0; got '1'"),
        (nn.Sequential(embedding()), {"min_values": -1}, "min_values must be an integer >= 0, got -1"),
    ],
)
def test_impossible_requests_are_named(model: nn.Module, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compress_embeddings_(model, **options)
