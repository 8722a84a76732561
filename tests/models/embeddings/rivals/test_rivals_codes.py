from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from gossamer.models.embeddings.rivals.codes import CodeSize, CompositionalCodeEmbedding, additive_kmeans, code_size


def test_a_vector_is_the_sum_of_its_codewords():
    table = CompositionalCodeEmbedding(9, 4, 3, num_codebooks=2, finished=True)
    codes = torch.randint(0, 3, (9, 2))
    table.codes.copy_(codes)
    expected = torch.stack([table.codebooks[0, a] + table.codebooks[1, b] for a, b in codes])
    torch.testing.assert_close(table(torch.arange(9)), expected)


def test_finish_changes_no_vector():
    table = CompositionalCodeEmbedding(50, 6, 5, num_codebooks=3)
    trained = table(torch.arange(50)).detach()
    torch.testing.assert_close(table.weight, trained)
    table.finish()
    torch.testing.assert_close(table.weight, trained)
    table.finish()
    assert table.num_values() == 3 * 5 * 6
    assert table.nbytes() == 4 * 3 * 5 * 6 + 50 * 3


def test_gradients_are_those_of_the_softmax_over_codewords():
    table = CompositionalCodeEmbedding(4, 3, 3, num_codebooks=2).double()
    ids, direction = torch.tensor([2]), torch.randn(3, dtype=torch.float64)
    (table(ids) @ direction).sum().backward()
    straight_through = table.queries.grad
    table.queries.grad = None
    likeness = torch.einsum("mp,mcp->mc", table.queries[2].reshape(2, -1), table.keys) / table.keys.shape[2] ** 0.5
    (torch.einsum("mc,mcd->d", likeness.softmax(dim=1), table.codebooks) @ direction).backward()
    torch.testing.assert_close(straight_through, table.queries.grad)


@pytest.mark.parametrize("finished", [False, True])
def test_a_stored_table_is_restored(finished: bool):
    table = CompositionalCodeEmbedding(200, 4, ratio=10, padding_idx=1)
    if finished:
        table.finish()
        assert table.num_values() <= 200 * 4 / 10
    again = CompositionalCodeEmbedding(**table.config())
    again.restore(table.stored())
    torch.testing.assert_close(again.weight, table.weight)


def planted(num_rows: int) -> np.ndarray:
    """Rows that are sums of one of four and one of three vectors."""
    generator = np.random.default_rng(0)
    first, second = generator.normal(0, 3, (4, 8)), generator.normal(0, 1, (3, 8))
    return (first[np.arange(num_rows) % 4] + second[np.arange(num_rows) % 3]).astype(np.float32)


def test_planted_codes_are_found_exactly():
    weight = planted(60)
    codebooks, codes = additive_kmeans(weight, 2, 4)
    np.testing.assert_allclose(codebooks[0, codes[:, 0]] + codebooks[1, codes[:, 1]], weight, atol=1e-3)


def test_more_sweeps_never_hurt():
    weight = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)

    def error(sweeps: int) -> float:
        codebooks, codes = additive_kmeans(weight, 3, 6, sweeps=sweeps)
        return float(np.square(weight - codebooks[np.arange(3), codes].sum(axis=1)).sum())

    errors = [error(sweeps) for sweeps in (1, 2, 4, 8)]
    assert all(late <= early * (1 + 1e-5) for early, late in itertools.pairwise(errors))


def test_more_codewords_than_rows_reproduce_the_rows():
    weight = torch.randn(5, 3)
    table = CompositionalCodeEmbedding.from_pretrained(weight, num_codewords=8, num_codebooks=2)
    torch.testing.assert_close(table.weight, weight, atol=1e-5, rtol=0)


def test_end_to_end_training_shares_codewords():
    weight = torch.from_numpy(planted(24))
    table = CompositionalCodeEmbedding(24, 8, 8, num_codebooks=4)
    optimiser = torch.optim.Adam(table.parameters(), lr=0.05)
    for _ in range(300):
        optimiser.zero_grad()
        (table(torch.arange(24)) - weight).square().sum(dim=1).mean().backward()
        optimiser.step()
    table.finish()
    assert (table.weight - weight).square().mean() < 0.1 * weight.var()


def test_sizes():
    assert code_size(10_000, 16, None, None, 2) == CodeSize(20, 250)  # bytes count 256 codewords at most
    assert code_size(1000, 16, None, None, 100) == CodeSize(5, 2)
    assert code_size(1000, 16, 32, None, None) == CodeSize(8, 32)
    assert code_size(1000, 16, None, 2, 20) == CodeSize(2, 25)


def test_impossible_sizes_are_named():
    with pytest.raises(ValueError, match="num_codewords or ratio must be given, one of them alone"):
        CompositionalCodeEmbedding(10, 2)
    with pytest.raises(ValueError, match=r"ratio must be at most 5, where .* has 4 numbers, got 6"):
        CompositionalCodeEmbedding(10, 2, ratio=6)
    with pytest.raises(ValueError, match="num_codewords must be an integer >= 2 and <= 256, got 257"):
        CompositionalCodeEmbedding(10, 2, 257)
    with pytest.raises(ValueError, match="num_codebooks must be an integer >= 1, got 0"):
        CompositionalCodeEmbedding(10, 2, 4, num_codebooks=0)
