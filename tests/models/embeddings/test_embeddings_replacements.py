"""What stands in for modules that shared a table answers as they would with that table's vectors."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.replacements import TableBag, TiedLinear, has_hooks, take_hooks

TABLE = AnchorEmbedding(20, 6, 4)


def reference(mode: str, **options: object) -> nn.EmbeddingBag:
    return nn.EmbeddingBag.from_pretrained(TABLE.weight, mode=mode, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("has_bias", [True, False])
def test_a_tied_linear_layer_is_the_linear_layer_of_its_weight(has_bias: bool) -> None:
    bias = nn.Parameter(torch.randn(20)) if has_bias else None
    layer = TiedLinear(TABLE, bias)
    hidden = torch.randn(3, 2, 6)
    torch.testing.assert_close(layer(hidden), nn.functional.linear(hidden, TABLE.weight, bias))
    assert (layer.in_features, layer.out_features) == (6, 20)
    assert layer.bias is bias
    torch.testing.assert_close(layer.weight, TABLE.weight)


@given(
    mode=st.sampled_from(["sum", "mean"]),
    padding_idx=st.sampled_from([None, 0, 5]),
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    seed=st.integers(0, 9),
)
def test_bags_equal_those_of_torch(mode: str, padding_idx: int | None, lengths: list[int], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 7, (sum(lengths),), generator=generator)
    offsets = torch.tensor([0, *lengths[:-1]]).cumsum(0)
    bag = TableBag(TABLE, mode=mode, padding_idx=padding_idx)
    torch.testing.assert_close(bag(ids, offsets), reference(mode, padding_idx=padding_idx)(ids, offsets))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_rows_of_a_matrix_are_bags(mode: str) -> None:
    ids = torch.randint(0, 20, (4, 3))
    torch.testing.assert_close(TableBag(TABLE, mode=mode)(ids), reference(mode)(ids))


@pytest.mark.parametrize("padding_idx", [None, 2])
def test_bags_may_be_weighted_and_end_with_an_offset(padding_idx: int | None) -> None:
    options = {"include_last_offset": True, "padding_idx": padding_idx}
    ids, offsets, weights = torch.tensor([1, 2, 3, 2]), torch.tensor([0, 1, 4]), torch.rand(4)
    bag = TableBag(TABLE, mode="sum", **options)  # type: ignore[arg-type]
    expected = reference("sum", **options)(ids, offsets, per_sample_weights=weights)
    torch.testing.assert_close(bag(ids, offsets, per_sample_weights=weights), expected)


def test_impossible_bags_are_named() -> None:
    with pytest.raises(ValueError, match="mode must be 'sum' or 'mean', got 'max'"):
        TableBag(TABLE, mode="max")
    with pytest.raises(ValueError, match=r"offsets must be given where input is one-dimensional .* shape \(3,\)"):
        TableBag(TABLE)(torch.arange(3))
    with pytest.raises(ValueError, match="per_sample_weights must be None where mode is 'mean'"):
        TableBag(TABLE)(torch.arange(3), torch.tensor([0]), torch.ones(3))


def test_hooks_move_and_can_still_be_removed() -> None:
    giver, taker = nn.Embedding(3, 2), AnchorEmbedding(3, 2, 1)
    seen: list[Tensor] = []
    handle = giver.register_forward_hook(lambda module, inputs, output: seen.append(output))
    assert has_hooks(giver)
    assert not has_hooks(taker)
    take_hooks(taker, giver)
    taker(torch.tensor([1]))
    assert len(seen) == 1
    handle.remove()
    taker(torch.tensor([1]))
    assert len(seen) == 1
