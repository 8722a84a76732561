from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.datasets.catalogue import load
from gossamer.models.embeddings.rivals.mixed_dim import (
    MixedDimEmbedding,
    choose_widths,
    num_values_of,
    popularity_blocks,
)

COUNTS = np.array([1, 30, 2, 16, 1, 0, 8, 4])


def test_blocks_have_about_equal_popularity() -> None:
    counts = np.sort(1000.0 / np.arange(1, 5001))[::-1]
    sizes, means = popularity_blocks(counts, 8)
    totals = sizes * means
    assert sizes.sum() == 5000
    assert (np.diff(means) < 0).all()
    assert totals[1:].max() < counts.sum() / 8 + counts[0]
    assert totals.sum() == pytest.approx(counts.sum())


def test_blocks_that_would_be_empty_are_none() -> None:
    sizes, _ = popularity_blocks(np.array([100.0, 1.0, 1.0]), 8)
    assert sizes.tolist() == [1, 2]
    assert popularity_blocks(np.zeros(4), 2)[0].sum() == 4


def test_widths_follow_the_power_law() -> None:
    widths = choose_widths(np.array([1, 4, 16]), np.array([16.0, 4.0, 1.0]), 16, alpha=0.5, ratio=None)
    assert widths.tolist() == [16, 8, 4]
    assert choose_widths(np.array([3]), np.array([0.0]), 16, alpha=0.5, ratio=None).tolist() == [16]


def test_vectors_by_hand() -> None:
    table = MixedDimEmbedding(8, 4, alpha=0.5, num_blocks=3, counts=COUNTS)
    order = [1, 3, 6, 7, 2, 0, 4, 5]
    assert table.ranks.argsort().tolist() == order
    start = 0
    for number, (size, width) in enumerate(table.blocks):
        for place in range(size):
            vector = table.vectors[number][place]
            assert len(vector) == width
            if width < 4:
                vector = vector @ table.projections[str(number)]
            torch.testing.assert_close(table.weight[order[start + place]], vector.data)
        start += size
    assert len(table.projections) > 0


def test_gradients_by_finite_differences() -> None:
    table = MixedDimEmbedding(8, 4, alpha=0.8, num_blocks=3, counts=COUNTS).double()
    # gradcheck moves the parameters themselves, in place
    assert torch.autograd.gradcheck(lambda *_: table(torch.tensor([5, 1, 1, 7])), tuple(table.parameters()))


@pytest.mark.parametrize("ratio", [1.0, 1.5, 3.0, 8.0, 12.0])
def test_a_ratio_is_used_up(ratio: float) -> None:
    counts = 1e5 / np.arange(1, 2001)
    table = MixedDimEmbedding(2000, 16, ratio=ratio, counts=counts)
    assert 0.9 * 32_000 / ratio < table.num_values() <= 32_000 / ratio
    assert [width for _, width in table.blocks] == sorted((width for _, width in table.blocks), reverse=True)


def test_values_are_counted_with_projections() -> None:
    widths = np.array([[4, 4], [4, 1], [2, 1]])
    assert num_values_of(np.array([3, 5]), widths, 4).tolist() == [32, 3 * 4 + 5 + 4, 3 * 2 + 5 + (2 + 1) * 4]
    for row in widths:
        table = MixedDimEmbedding(8, 4, blocks=[(3, int(row[0])), (5, int(row[1]))])
        assert table.num_values() == num_values_of(np.array([3, 5]), row, 4)


def test_explicit_blocks() -> None:
    table = MixedDimEmbedding(8, 4, blocks=[(3, 4), (5, 1)], counts=COUNTS)
    assert table.num_values() == 3 * 4 + 5 + 4
    with pytest.raises(ValueError, match="blocks must have 8 ids together, got 7"):
        MixedDimEmbedding(8, 4, blocks=[(3, 4), (4, 1)])
    with pytest.raises(ValueError, match="width of a block must be an integer >= 1 and <= 4, got 5"):
        MixedDimEmbedding(8, 4, blocks=[(8, 5)])


def test_sentences() -> None:
    with pytest.raises(ValueError, match="counts must be given, one per id, to make blocks of equal popularity"):
        MixedDimEmbedding(8, 4, alpha=0.5)
    with pytest.raises(ValueError, match="counts must be at least 0, got -1"):
        MixedDimEmbedding(3, 4, alpha=0.5, counts=np.array([1, -1, 2]))
    with pytest.raises(ValueError, match="alpha or ratio must be given, one of them alone"):
        MixedDimEmbedding(8, 4, counts=COUNTS)
    with pytest.raises(ValueError, match=r"alpha must be a finite number >= 0, got -0\.5"):
        MixedDimEmbedding(8, 4, alpha=-0.5, counts=COUNTS)
    with pytest.raises(ValueError, match="num_blocks must be an integer >= 1, got 0"):
        MixedDimEmbedding(8, 4, alpha=0.5, num_blocks=0, counts=COUNTS)


def test_converting_is_the_best_of_each_block() -> None:
    weight = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    table = MixedDimEmbedding.from_pretrained(weight, blocks=[(2, 4), (6, 2)], counts=COUNTS)
    torch.testing.assert_close(table.weight[[1, 3]], weight[[1, 3]])
    rest = weight[[6, 7, 2, 0, 4, 5]]
    error = (table.weight - weight).square().sum()
    torch.testing.assert_close(error, torch.linalg.svdvals(rest)[2:].square().sum(), atol=1e-5, rtol=1e-4)


def test_a_block_of_fewer_ids_than_its_width_is_exact() -> None:
    weight = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
    table = MixedDimEmbedding.from_pretrained(weight, blocks=[(2, 8), (2, 3)])
    torch.testing.assert_close(table.weight, weight, atol=1e-5, rtol=1e-4)


@pytest.mark.data
def test_sizes_of_table_13() -> None:
    """Within 4 %: the paper's counts are of another split, and its rounding of widths is not known."""
    ratings = load("ml-1m")
    sides = [np.diff(ratings.indptr), np.bincount(ratings.indices)]
    for alpha, num_blocks, published in [(0.4, 8, 66.6), (0.4, 16, 66.2), (0.6, 8, 47.0), (0.6, 16, 42.9)]:
        tables = [MixedDimEmbedding(len(n), 16, alpha=alpha, num_blocks=num_blocks, counts=n) for n in sides]
        assert sum(table.num_values() for table in tables) / 1000 == pytest.approx(published, rel=0.04)
