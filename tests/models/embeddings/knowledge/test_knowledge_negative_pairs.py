from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.data import Vocabulary
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.knowledge import negative_pairs
from gossamer.models.embeddings.knowledge.negative_pairs import negative_pair_loss, sample_negative_pairs
from gossamer.models.embeddings.knowledge.relations import Relations
from gossamer.models.embeddings.optimiser import make_optimiser


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def chain(size: int = 8) -> Relations:
    return Relations.from_edges([(index, index + 1) for index in range(size - 1)], Vocabulary.numbered(size))


def test_pairs_are_unrelated_different_and_of_the_batch() -> None:
    relations = chain()
    batch = torch.tensor([0, 1, 2, 2, 2, 5])
    pairs = sample_negative_pairs(relations, batch, 500, generator())
    assert pairs.shape == (500, 2)
    seen = {tuple(sorted(pair)) for pair in pairs.tolist()}
    assert seen == {(0, 2), (0, 5), (1, 5), (2, 5)}
    # Repeated ids do not count twice: (2, 5) is as likely as (0, 5).
    counts = [sum(set(pair) == wanted for pair in pairs.tolist()) for wanted in ({2, 5}, {0, 5})]
    assert abs(counts[0] - counts[1]) < 60
    torch.testing.assert_close(pairs, sample_negative_pairs(relations, batch, 500, generator()))


@pytest.mark.parametrize("batch", [[], [3], [3, 3], [3, 4]])
def test_where_nothing_is_unrelated_there_are_no_pairs_and_no_loss(batch: list[int]) -> None:
    pairs = sample_negative_pairs(chain(), torch.tensor(batch, dtype=torch.long), 10, generator())
    assert pairs.shape == (0, 2)
    assert negative_pair_loss(AnchorEmbedding(8, 4, 3), pairs).item() == 0.0


@pytest.mark.parametrize("num_slots", [2, 4])
@pytest.mark.parametrize("comparisons", [1, 1 << 22])
def test_loss_is_that_of_the_dense_transform(num_slots: int, comparisons: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negative_pairs, "COMPARISONS_AT_ONCE", comparisons)
    table = AnchorEmbedding(8, 3, 4, num_slots=num_slots, random_state=1)
    pairs = torch.tensor([[0, 5], [1, 2], [7, 0], [0, 5]])
    dense = table.transform().toarray()
    expected = sum(dense[u] @ dense[v] for u, v in pairs.tolist())
    assert expected > 0
    assert negative_pair_loss(table, pairs).item() == pytest.approx(expected, rel=1e-5)


def test_gradient_is_right_and_reaches_only_rows_of_pairs() -> None:
    table = AnchorEmbedding(6, 3, 5, num_slots=3, sparse=False, random_state=2).double()
    pairs = torch.tensor([[0, 1], [1, 2], [4, 0]])

    def loss(values: torch.Tensor) -> torch.Tensor:
        table.values.data = values.data
        with torch.nn.utils.stateless._reparametrize_module(table, {"values": values}):
            return negative_pair_loss(table, pairs)

    assert torch.autograd.gradcheck(loss, (table.values.detach().clone().requires_grad_(),))
    negative_pair_loss(table, pairs).backward()
    assert table.values.grad is not None
    assert (table.values.grad[[3, 5]] == 0).all()


def test_gradients_come_in_rows_where_the_table_says_so() -> None:
    table = AnchorEmbedding(1000, 3, 4)
    negative_pair_loss(table, torch.tensor([[0, 999]])).backward()
    assert table.values.grad is not None
    assert table.values.grad.is_sparse


def test_anchors_that_are_switched_off_share_nothing() -> None:
    table = AnchorEmbedding(4, 3, 2, random_state=0)
    both = torch.tensor([[0, 1]])
    dense = table.transform().toarray()
    table.num_active = 1
    assert negative_pair_loss(table, both).item() == pytest.approx(float(dense[0, 0] * dense[1, 0]))


def test_training_on_it_parts_unrelated_objects() -> None:
    """Two groups, related inside: after training on negative pairs alone no anchor serves both."""
    objects = Vocabulary.numbered(10)
    edges = [(u, v) for u in range(10) for v in range(u) if (u < 5) == (v < 5)]
    relations = Relations.from_edges(edges, objects)
    table = AnchorEmbedding(10, 3, 4, random_state=0)
    optimiser = make_optimiser(table, kind="sgd", learning_rate=0.5)
    draw = generator()
    for _ in range(30):
        optimiser.zero_grad()
        negative_pair_loss(table, sample_negative_pairs(relations, torch.arange(10), 16, draw)).backward()
        optimiser.step()
    dense = table.transform().toarray()
    assert (dense >= 0).all()
    np.testing.assert_allclose(dense[:5] @ dense[5:].T, 0, atol=1e-4)
    assert dense.sum() > 0


def test_bad_input_is_named() -> None:
    table = AnchorEmbedding(4, 3, 2)
    with pytest.raises(ValueError, match=r"pairs must have two columns of ids, got shape \(3,\)"):
        negative_pair_loss(table, torch.tensor([0, 1, 2]))
    with pytest.raises(ValueError, match="ids must be from 0 to 3, got 4"):
        negative_pair_loss(table, torch.tensor([[0, 4]]))
    with pytest.raises(ValueError, match="ids must be from 0 to 7, got 0 to 8"):
        sample_negative_pairs(chain(), torch.tensor([0, 8]), 3, generator())
    with pytest.raises(ValueError, match="n must be an integer >= 1, got 0"):
        sample_negative_pairs(chain(), torch.tensor([0]), 0, generator())
