from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.text.text_pruning import Pruning


def prune(num_updates: int = 20, num_entries: int = 7) -> tuple[AnchorEmbedding, Pruning, list[int]]:
    table = AnchorEmbedding(10, 4, 3)
    optimiser = make_optimiser(table, kind="adam", learning_rate=1e-2)
    pruning = Pruning(table, np.arange(1, 11), num_entries=num_entries, num_updates=num_updates)
    pruning.attach(optimiser)
    sizes = []
    for _ in range(num_updates):
        optimiser.zero_grad()
        (table(torch.arange(10)) - 1).square().sum().backward()
        optimiser.step()
        sizes.append(table.nnz())
    return table, pruning, sizes


def test_budget_is_reached_step_by_step_and_held():
    table, pruning, sizes = prune()
    assert min(sizes[:4]) > 25  # before a fifth of the updates: only the proximal step makes zeros
    assert sizes[-1] == table.nnz() <= 7
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes[14:])) == 1  # after seven tenths
    assert int(pruning.kept.sum()) == 7


def test_the_worthiest_entries_stay():
    table = AnchorEmbedding(3, 2, 2)
    with torch.no_grad():
        table.values.copy_(torch.tensor([[1.0, 0.1], [1.0, 0.2], [0.5, 0.4]]))
        table.anchors.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    pruning = Pruning(table, np.array([1, 1, 100]), num_entries=2, num_updates=10)
    pruning._keep(2)  # worth n^½ · t · ‖a‖ = [[1, .2], [1, .4], [5, 8]]
    assert pruning.kept.tolist() == [[False, False], [False, False], [True, True]]


def test_state_is_in_buffers_and_does_not_hold_the_table():
    _, pruning, _ = prune(num_updates=5)
    assert set(pruning.state_dict()) == {"kept", "done"}
    assert int(pruning.done) == 5


def test_bad_arguments_are_named():
    table = AnchorEmbedding(10, 4, 3)
    with pytest.raises(ValueError, match=r"num_entries must be an integer >= 1, got 0"):
        Pruning(table, np.ones(10), num_entries=0, num_updates=5)
    with pytest.raises(ValueError, match=r"num_updates must be an integer >= 1, got 0"):
        Pruning(table, np.ones(10), num_entries=5, num_updates=0)
