import pytest
import torch

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.regrowth import Regrowth


def table_with_orthogonal_anchors(num_rows=6, num_anchors=6, num_slots=2):
    table = AnchorEmbedding(num_rows, num_anchors, num_anchors, num_slots=num_slots, random_state=0)
    with torch.no_grad():
        table.anchors.copy_(torch.eye(num_anchors))
        table.slots.copy_(torch.tensor([[0, 1]] * num_rows))
        table.values.copy_(torch.tensor([[1.0, 0.0]] * num_rows))
    return table


def test_a_free_slot_goes_to_the_anchor_that_violates_the_optimum_most():
    table = table_with_orthogonal_anchors()
    optimiser = make_optimiser(table, learning_rate=0.1, l1=0.5, regrow_every=1)
    gradients = torch.zeros(3, 6)
    gradients[0, 3], gradients[0, 4] = -1.0, -2.0  # row 1: anchor 4 is wanted most
    gradients[1, 5] = -0.4  # row 2: the pull is below the penalty, zero is optimal
    gradients[2, 2] = 3.0  # row 3: T ≥ 0 forbids this direction
    assert Regrowth(table, optimiser, 0.5, 1).regrow(torch.tensor([1, 2, 3]), gradients) == 1
    assert table.slots.tolist() == [[0, 1], [0, 4], [0, 1], [0, 1], [0, 1], [0, 1]]
    assert table.values.tolist() == [[1, 0]] * 6  # its weight begins at zero


def test_full_rows_and_exempt_slots_are_left_alone():
    table = table_with_orthogonal_anchors()
    with torch.no_grad():
        table.values[0, 1] = 0.1
    optimiser = make_optimiser(table, learning_rate=0.1, regrow_every=1)
    table.exempt = torch.zeros_like(table.values, dtype=torch.bool)
    table.exempt[1, 1] = True
    gradients = torch.zeros(2, 6)
    gradients[:, 4] = -5.0
    assert Regrowth(table, optimiser, 0.0, 1).regrow(torch.tensor([0, 1]), gradients) == 0


def test_inactive_anchors_are_not_regrown():
    table = table_with_orthogonal_anchors()
    table.num_active = 3
    optimiser = make_optimiser(table, learning_rate=0.1, regrow_every=1)
    gradients = torch.zeros(1, 6)
    gradients[0, 4], gradients[0, 2] = -5.0, -1.0
    Regrowth(table, optimiser, 0.0, 1).regrow(torch.tensor([0]), gradients)
    assert table.slots[0].tolist() == [0, 2]


@pytest.mark.parametrize("through", ["rows", "logits"])
def test_training_finds_supports_it_did_not_begin_with(through):
    """Planted: row i is anchor i mod 6 alone, and no row begins with a slot for it."""
    num_rows, num_anchors = 12, 6
    target = torch.eye(num_anchors)[torch.arange(num_rows) % num_anchors]
    table = AnchorEmbedding(num_rows, num_anchors, num_anchors, num_slots=2, random_state=0)
    with torch.no_grad():
        table.anchors.copy_(torch.eye(num_anchors))
        table.slots.copy_(torch.stack([(torch.arange(num_rows) + 1 + shift) % num_anchors for shift in (0, 1)], dim=1))
    table.anchors.requires_grad_(False)
    optimiser = make_optimiser(table, kind="sgd", learning_rate=0.2, l1=0.01, regrow_every=2)
    every = torch.arange(num_rows)
    for _ in range(200):
        found = table(every) if through == "rows" else table.logits(torch.eye(num_anchors)).T
        ((found - target) ** 2).sum().mul(0.5).backward()
        optimiser.step()
        optimiser.zero_grad()
    assert table.nnz() == num_rows
    assert torch.allclose(table.weight, target * 0.99, atol=1e-4)  # the lasso's own shrinkage by l1
    assert [table.anchors_of(row)[0][0] for row in range(num_rows)] == [row % num_anchors for row in range(num_rows)]


def test_it_listens_only_in_its_turn_and_survives_a_checkpoint():
    table = table_with_orthogonal_anchors()
    optimiser = make_optimiser(table, learning_rate=0.1, regrow_every=3)
    turns = []
    for _ in range(6):
        turns.append(table.regrowth.listens)
        table(torch.tensor([0])).sum().backward()
        optimiser.step()
    assert turns == [False, False, True] * 2
    other = table_with_orthogonal_anchors()
    other.load_state_dict(table.state_dict())
    assert other.num_updates == 6
