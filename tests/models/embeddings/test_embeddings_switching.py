from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.ratings.als_step import AnchorSweep
from gossamer.models.embeddings.switching import SwitchedSide, SwitchedTable


def trained_table(kind: str, num_active: int = 4, is_sparse: bool = False):
    table = AnchorEmbedding(20, 3, 6, num_slots=6, sparse=is_sparse)
    optimiser = make_optimiser(table, kind=kind, learning_rate=0.05, l1=1e-3, regrow_every=None)
    return table, optimiser, SwitchedTable(table, num_active)


def take_steps(table: AnchorEmbedding, optimiser: torch.optim.Optimizer, number: int, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    target = torch.randn(20, 3, generator=generator)
    for _ in range(number):
        ids = torch.randint(20, (8,), generator=generator)
        optimiser.zero_grad()
        (table(ids) - target[ids]).square().sum(dim=1).mean().backward()
        optimiser.step()


@pytest.mark.parametrize("kind", ["adam", "yogi", "sgd"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_anchors_that_are_off_keep_their_values_exactly(kind: str, is_sparse: bool):
    table, optimiser, switched = trained_table(kind, is_sparse=is_sparse)
    take_steps(table, optimiser, 10)
    switched.switch(2)
    anchors, values = table.anchors.detach().clone(), table.values.detach().clone()
    take_steps(table, optimiser, 10, seed=1)
    table.catch_up()
    torch.testing.assert_close(table.anchors[2:], anchors[2:], rtol=0, atol=0)
    torch.testing.assert_close(table.values[:, 2:], values[:, 2:], rtol=0, atol=0)
    assert not torch.equal(table.anchors[:2], anchors[:2])
    switched.switch(4)
    assert table.num_active == switched.num_active == 4
    assert table.nnz() == switched.nnz() == int(table.values[:, :4].count_nonzero())
    take_steps(table, optimiser, 5, seed=2)
    assert not torch.equal(table.anchors[2:4], anchors[2:4])
    torch.testing.assert_close(table.anchors[4:], anchors[4:], rtol=0, atol=0)


def test_a_new_anchor_changes_nothing_until_its_gradient_finds_members():
    table, optimiser, switched = trained_table("adam")
    take_steps(table, optimiser, 10)
    before = table.weight
    switched.switch(6)
    torch.testing.assert_close(table.weight, before)
    take_steps(table, optimiser, 10)
    assert table.values[:, 4:].count_nonzero() > 0


def test_more_anchors_than_the_table_has_are_refused():
    _, _, switched = trained_table("adam")
    with pytest.raises(ValueError, match=r"^number of anchors must be an integer >= 1 and <= 6, got 7$"):
        switched.switch(7)


def test_a_state_of_the_table_knows_which_anchors_are_on():
    table, _, switched = trained_table("adam")
    switched.switch(3)
    state = table.state_dict()
    switched.switch(5)
    switched.load_state_dict(switched.state_dict())
    table.load_state_dict(state)
    assert switched.num_active == 3


def planted_ratings(seed: int = 0) -> sparse.csr_array:
    """Users and items each of one of three kinds; a rating depends on both kinds."""
    generator = np.random.default_rng(seed)
    users, items = generator.integers(3, size=60), generator.integers(3, size=40)
    level = generator.normal(size=(3, 3))
    ratings = level[users][:, items] + 0.05 * generator.normal(size=(60, 40))
    ratings[generator.random((60, 40)) < 0.5] = 0
    return sparse.csr_array(ratings.astype(np.float32))


def swept(num_anchors: int = 3, num_slots: int = 4) -> tuple[AnchorSweep, SwitchedSide]:
    sweep = AnchorSweep(
        planted_ratings(),
        embedding_dim=4,
        user_anchors=num_anchors,
        item_anchors=num_anchors,
        num_slots=num_slots,
        biases=False,
        charge=0.05,
        budget=None,
        random_state=0,
    )
    sweep(None, 1.0)
    return sweep, SwitchedSide(sweep, sweep.users, sweep.items, num_slots)


def test_the_anchors_with_fewest_members_leave_and_return_first():
    sweep, switched = swept(4)
    side = sweep.users
    members = np.bincount(side.columns[side.columns >= 0], minlength=4)
    before, codes = side.anchors.copy(), side.transform().toarray()
    order = np.argsort(members, kind="stable")
    switched.switch(2)
    staying = np.sort(order[2:])
    np.testing.assert_array_equal(side.anchors, before[staying])
    np.testing.assert_array_equal(side.transform().toarray(), codes[:, staying])
    assert switched.num_active == 2
    assert switched.nnz() == np.count_nonzero(codes[:, staying])
    switched.switch(4)
    # Of the two that left, the one with more members comes back first.
    np.testing.assert_array_equal(side.anchors, before[[*staying, order[0], order[1]]])
    assert len(switched.shelf) == 0


def test_new_anchors_point_to_what_is_missing():
    """Three kinds of users, of which two anchors cannot show all: one more makes the error fall to the noise."""
    sweep, switched = swept(1)
    items = SwitchedSide(sweep, sweep.items, sweep.users, 4)
    few = [sweep(None, 1.0)["loss"] for _ in range(8)][-1]
    for number in (2, 3):
        switched.switch(number)
        items.switch(number)
        many = [sweep(None, 1.0)["loss"] for _ in range(4)][-1]
    assert sweep.users.columns.shape == (60, 3)
    assert many < 0.1 * few


def test_a_state_with_another_number_of_anchors_comes_back():
    sweep, switched = swept(4)
    switched.switch(2)
    sweep(None, 1.0)
    own, state = switched.state_dict(), sweep.state_dict()
    kept = {name: array.copy() for name, array in sweep.users.state().items()}
    own, state = _copied(own), _copied(state)
    switched.switch(3)
    sweep(None, 1.0)
    switched.load_state_dict(own)
    sweep.load_state_dict(state)
    for name, array in sweep.users.state().items():
        np.testing.assert_array_equal(array, kept[name], err_msg=name)
    assert switched.num_active == 2
    assert len(switched.shelf) == 2


def test_a_side_needs_an_anchor():
    _, switched = swept()
    with pytest.raises(ValueError, match=r"^number of anchors must be an integer >= 1, got 0$"):
        switched.switch(0)


def _copied(state):
    if isinstance(state, dict):
        return {name: _copied(value) for name, value in state.items()}
    return state.clone() if isinstance(state, torch.Tensor) else state
