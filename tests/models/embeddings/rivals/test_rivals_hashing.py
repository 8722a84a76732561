from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.embeddings.rivals.hashing import (
    PRIME,
    HashEmbedding,
    QuotientRemainderEmbedding,
    most_remainders,
)

COUNTS = np.array([5, 90, 1, 70, 2, 80, 3, 0, 4, 6, 8, 7])


def by_hand(table: HashEmbedding, index: int) -> torch.Tensor:
    """Return one vector as the paper defines it, without any of the table's own indexing."""
    kept = table.kept.tolist()
    if index in kept:
        return table.vectors[kept.index(index)]
    buckets = [(int(a) * index + int(b)) % PRIME % table.num_buckets for a, b in table.hashes]
    if table.weights is None:
        return table.vectors[table.num_kept + buckets[0]]
    weights = table.weights[[other for other in range(table.num_embeddings) if other not in kept].index(index)]
    return sum(weight * table.vectors[table.num_kept + bucket] for weight, bucket in zip(weights, buckets, strict=True))


@pytest.mark.parametrize("num_hashes", [1, 2, 3])
@pytest.mark.parametrize("num_kept", [0, 3])
def test_vectors_by_hand(num_kept: int, num_hashes: int) -> None:
    table = HashEmbedding(12, 4, 5, num_kept=num_kept, num_hashes=num_hashes, counts=COUNTS)
    assert table.kept.tolist() == [1, 3, 5][:num_kept]
    expected = torch.stack([by_hand(table, index) for index in range(12)])
    torch.testing.assert_close(table(torch.arange(12)), expected)


def test_gradients_go_to_what_made_the_vector() -> None:
    table = HashEmbedding(12, 4, 5, num_kept=3, counts=COUNTS).double()
    table.rows(torch.tensor([3, 7])).sum().backward()
    assert table.vectors.grad is not None
    assert table.weights is not None
    assert table.weights.grad is not None
    assert table.vectors.grad[1].tolist() == [1.0] * 4  # id 3 is the second of the kept
    assert table.weights.grad.any(dim=1).nonzero().tolist() == [[4]]  # id 7 is the fifth of the hashed: 0, 2, 4, 6, 7
    # gradcheck moves the parameters themselves, in place
    assert torch.autograd.gradcheck(lambda *_: table(torch.arange(12)), tuple(table.parameters()))


def test_hashes_spread_ids_evenly() -> None:
    table = HashEmbedding(20_000, 1, 100, num_hashes=2)
    places, _ = table.places_of(torch.arange(20_000))
    for j in range(2):
        counts = torch.bincount(places[:, j], minlength=100).double()
        assert counts.min() > 100
        assert counts.max() < 350
    assert float((places[:, 0] == places[:, 1]).double().mean()) < 0.05


def test_values_are_counted_as_in_the_paper() -> None:
    assert HashEmbedding(12, 4, 5, num_kept=3).num_values() == (3 + 5) * 4 + (12 - 3) * 2
    assert HashEmbedding(12, 4, 5, num_kept=3, num_hashes=1).num_values() == (3 + 5) * 4


def test_weights_that_do_not_fit_are_answered_with_a_way_out() -> None:
    with pytest.raises(ValueError, match=r"ratio must be at most .* \(num_hashes=1 needs no weights\), got 15"):
        HashEmbedding(1000, 16, ratio=15)
    assert HashEmbedding(1000, 16, ratio=15, num_hashes=1).num_values() <= 1000 * 16 / 15


def test_more_buckets_than_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="num_buckets must be an integer >= 1 and <= 9, got 10"):
        HashEmbedding(12, 4, 10, num_kept=3)


def test_converting_finds_planted_vectors() -> None:
    planted = HashEmbedding(400, 8, 30, num_hashes=1, num_kept=20, random_state=0)
    found = HashEmbedding.from_pretrained(planted.weight, num_buckets=30, num_hashes=1, num_kept=20)
    torch.testing.assert_close(found.weight, planted.weight, atol=1e-5, rtol=1e-4)
    kept = planted.weight[planted.kept.long()]
    weighted = HashEmbedding.from_pretrained(planted.weight, num_buckets=30, num_kept=20)
    torch.testing.assert_close(weighted.weight[weighted.kept.long()], kept, atol=1e-5, rtol=1e-4)


def test_quotient_and_remainder_by_hand() -> None:
    table = QuotientRemainderEmbedding(10, 3, num_remainders=4)
    assert len(table.quotients) == 3
    for index in range(10):
        torch.testing.assert_close(
            table.weight[index], (table.quotients[index // 4] * table.remainders[index % 4]).data
        )
    assert len(torch.unique(table.weight, dim=0)) == 10


@given(st.integers(2, 5000), st.floats(1, 30))
def test_a_ratio_takes_the_most_remainders_that_fit(num_embeddings: int, ratio: float) -> None:
    budget = int(num_embeddings * 2 / ratio) // 2
    if all(m + -(-num_embeddings // m) > budget for m in range(1, num_embeddings + 1)):
        with pytest.raises(ValueError, match=r"must be at (most|least)"):
            most_remainders(num_embeddings, 2, ratio)
        return
    most = most_remainders(num_embeddings, 2, ratio)
    assert most + -(-num_embeddings // most) <= budget
    assert all(more + -(-num_embeddings // more) > budget for more in range(most + 1, num_embeddings + 1))


def test_products_are_found_again() -> None:
    planted = QuotientRemainderEmbedding(50, 6, num_remainders=8, random_state=2)  # 50 = 6·8 + 2: the last is not full
    found = QuotientRemainderEmbedding.from_pretrained(planted.weight, num_remainders=8)
    torch.testing.assert_close(found.weight, planted.weight, atol=1e-5, rtol=1e-4)


def test_new_tables_have_the_scale_of_all_tables() -> None:
    for table in (HashEmbedding(3000, 20, 300), QuotientRemainderEmbedding(3000, 20, 300)):
        assert float(table.weight.std()) == pytest.approx(0.1, rel=0.2)
