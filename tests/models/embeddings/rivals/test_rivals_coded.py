from __future__ import annotations

import pytest
import torch

from gossamer.models.embeddings.rivals.coded import CodedEmbedding
from gossamer.models.embeddings.rivals.ksvd import KSvdEmbedding
from gossamer.models.embeddings.rivals.sparse_code import SparseCodeEmbedding
from gossamer.models.embeddings.rivals.sparse_hash import SparseHashEmbedding

TABLES = [SparseHashEmbedding, KSvdEmbedding, SparseCodeEmbedding]


@pytest.mark.parametrize("cls", TABLES)
@pytest.mark.parametrize("ratio", [2, 5, 15])
def test_the_ratio_is_kept_and_used(cls: type[CodedEmbedding], ratio: float):
    table = cls.from_pretrained(torch.randn(300, 32), ratio=ratio)
    assert 0.85 * 300 * 32 / ratio <= table.num_values() <= 300 * 32 / ratio


@pytest.mark.parametrize("cls", TABLES)
def test_a_vector_is_the_weighted_sum_of_its_anchors(cls: type[CodedEmbedding]):
    table = cls.from_pretrained(torch.randn(40, 6), num_anchors=8, num_slots=3)
    slots, values = table.codes_of(torch.arange(40))
    expected = torch.einsum("vs,vsd->vd", values, table.anchors[slots])
    torch.testing.assert_close(table(torch.arange(40)), expected)


@pytest.mark.parametrize("cls", TABLES)
def test_a_stored_table_is_restored(cls: type[CodedEmbedding]):
    table = cls.from_pretrained(torch.randn(40, 6), ratio=2, padding_idx=5)
    again = cls(**table.config())
    again.restore(table.stored())
    torch.testing.assert_close(again.weight, table.weight)
    assert not table.weight[5].any()


@pytest.mark.parametrize("cls", TABLES)
def test_training_moves_anchors_and_weights(cls: type[CodedEmbedding]):
    table = cls(40, 6, num_anchors=8, num_slots=3)
    before = table.slots.clone()
    table(torch.arange(40)).square().sum().backward()
    assert table.anchors.grad is not None
    assert table.anchors.grad.all()
    assert table.values.grad is not None
    assert table.values.grad.all()
    table.finish()
    assert torch.equal(table.slots, before)


@pytest.mark.parametrize("cls", TABLES)
def test_rows_of_zeros_stay_zeros(cls: type[CodedEmbedding]):
    weight = torch.randn(30, 4)
    weight[7:15] = 0
    table = cls.from_pretrained(weight, num_anchors=5, num_slots=2)
    assert not table.weight[7:15].any()


@pytest.mark.parametrize("cls", TABLES)
def test_a_table_of_equal_rows_is_exact(cls: type[CodedEmbedding]):
    weight = torch.ones(30, 4)
    table = cls.from_pretrained(weight, num_anchors=5, num_slots=2)
    torch.testing.assert_close(table.weight, weight, atol=1e-3, rtol=0)


@pytest.mark.parametrize("cls", TABLES)
def test_bad_input_is_named(cls: type[CodedEmbedding]):
    with pytest.raises(ValueError, match="num_anchors or ratio must be given, one of them alone"):
        cls(40, 6)
    with pytest.raises(ValueError, match="num_anchors must be at most the 40 objects, got 41"):
        cls(40, 6, num_anchors=41)
    with pytest.raises(ValueError, match=r"ratio must be at most .* got 50"):
        cls(40, 6, ratio=50)
    with pytest.raises(ValueError, match="weight must be finite, got NaN or infinity in row 2"):
        cls.from_pretrained(torch.tensor([[1.0], [1.0], [torch.nan]]), num_anchors=1)


def test_more_search_means_less_error_at_equal_size():
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(400, 8, generator=generator) @ torch.randn(8, 24, generator=generator)
    weight += 0.3 * torch.randn(400, 24, generator=generator)
    errors = {cls: (cls.from_pretrained(weight, ratio=3).weight - weight).square().mean().item() for cls in TABLES}
    assert errors[KSvdEmbedding] < errors[SparseCodeEmbedding] < errors[SparseHashEmbedding]
    assert errors[SparseHashEmbedding] < weight.square().mean()
