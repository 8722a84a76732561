"""Members are trained as if each were alone, and rows are predicted by members that never saw them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.discrete.label_network import LabelNetwork
from gossamer.models.discrete.label_training import LabelObjective, draw_folds, left_out_probs, train_members
from gossamer.models.discrete.shared import SharedLatent

OBJECTIVE = LabelObjective(2, SharedLatent(2, 2), "draws", "relaxed", 1.0, 0.0)


def small_problem() -> tuple[np.ndarray, np.ndarray]:
    inputs = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    return inputs, (inputs[:, :2] > 0).astype(np.int64)


def trained(num_members: int, left_out: np.ndarray) -> LabelNetwork:
    torch.manual_seed(0)
    both = LabelNetwork(2, 3, 2, hidden_dims=(4,))
    network = LabelNetwork(num_members, 3, 2, hidden_dims=(4,))
    network.load_state_dict({name: value[:num_members] for name, value in both.state_dict().items()})
    inputs, labels = small_problem()
    train_members(
        network,
        OBJECTIVE,
        inputs,
        labels,
        left_out,
        learning_rate=0.01,
        weight_decay=0.1,
        batch_size=8,
        epochs=3,
        patience=None,
        random_state=0,
        score=lambda probs: 0.0 if np.isfinite(probs).all() else 1.0,
    )
    return network


def test_a_member_learns_what_it_would_learn_alone() -> None:
    left_out = draw_folds(20, 2, 1, 0)
    together, alone = trained(2, left_out), trained(1, np.concatenate([left_out[:1], ~left_out[:1]])[:1])
    for name, value in alone.state_dict().items():
        torch.testing.assert_close(together.state_dict()[name][:1], value, msg=name)


def test_what_a_member_leaves_out_does_not_reach_it() -> None:
    inputs, labels = small_problem()
    left_out = draw_folds(20, 2, 1, 0)
    members = LabelNetwork(2, 3, 2, hidden_dims=())
    seen = torch.from_numpy((~left_out).astype(np.float32))
    x, y = torch.from_numpy(inputs), torch.from_numpy(labels.astype(np.float32))
    x.requires_grad_()
    costs = OBJECTIVE.loss(members, x, y, torch.Generator()) * seen
    (gradient,) = torch.autograd.grad(costs[0].sum(), x)
    assert bool((gradient[torch.from_numpy(left_out[0])] == 0).all())


def test_rows_are_predicted_by_those_that_left_them_out() -> None:
    inputs, _ = small_problem()
    left_out = draw_folds(20, 2, 1, 0)
    network = LabelNetwork(2, 3, 2, hidden_dims=()).eval()
    probs = left_out_probs(network, OBJECTIVE, inputs, left_out)
    each = OBJECTIVE.probs(network(torch.from_numpy(inputs)).flatten(0, 1)).view(2, 20, 2).detach().numpy()
    for row in range(20):
        (member,) = np.flatnonzero(left_out[:, row])
        np.testing.assert_allclose(probs[row], each[member, row], rtol=1e-5)


@pytest.mark.parametrize(("num_rows", "num_folds", "num_repeats"), [(7, 3, 2), (5, 5, 1)])
def test_every_repeat_leaves_every_row_out_once(num_rows: int, num_folds: int, num_repeats: int) -> None:
    left_out = draw_folds(num_rows, num_folds, num_repeats, 1)
    assert left_out.shape == (num_folds * num_repeats, num_rows)
    for repeat in np.split(left_out, num_repeats):
        np.testing.assert_array_equal(repeat.sum(axis=0), 1)
