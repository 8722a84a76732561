import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.training.optimisers import ProximalAdam, ProximalSGD, ProximalYogi

KINDS = {"yogi": ProximalYogi, "adam": ProximalAdam, "sgd": ProximalSGD}


def test_thresholds_fall_on_transforms_alone():
    module = nn.ModuleDict({"table": AnchorEmbedding(10, 4, 3), "head": nn.Linear(4, 2)})
    optimiser = make_optimiser(module, learning_rate=0.1, l1=0.5)
    assert isinstance(optimiser, ProximalYogi)
    sparse_group, plain = optimiser.param_groups
    assert sparse_group["params"] == [module["table"].values]
    assert (sparse_group["l1"], sparse_group["nonnegative"]) == (0.5, True)
    assert len(plain["params"]) == 3
    assert plain["l1"] == 0
    assert not plain["nonnegative"]


def test_a_shared_table_is_optimised_once():
    table = AnchorEmbedding(10, 4, 3)
    module = nn.ModuleList([table, table])
    assert sum(len(group["params"]) for group in make_optimiser(module, learning_rate=0.1).param_groups) == 2


def test_unknown_kind():
    with pytest.raises(ValueError, match="kind must be one of"):
        make_optimiser(AnchorEmbedding(10, 4, 3), kind="rmsprop", learning_rate=0.1)


class DenseTransform(nn.Module):
    """The reference: T dense, every row looked up by multiplication, so that every gradient is a full matrix."""

    def __init__(self, table):
        super().__init__()
        self.values = nn.Parameter(table.values.detach().clone())
        self.anchors = nn.Parameter(table.anchors.detach().clone())

    def forward(self, ids):
        one_hot = nn.functional.one_hot(ids, len(self.values)).to(self.values.dtype)
        return one_hot @ self.values @ self.anchors


@settings(max_examples=40)
@given(
    st.sampled_from(["sgd", "yogi"]),
    st.floats(0, 0.3),
    st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=5), min_size=1, max_size=8),
)
def test_row_sparse_training_is_dense_training(kind, l1, batches):
    """Lookups of some rows, with lazy thresholds, end where a dense T under the dense proximal optimiser ends.

    Without momentum, a row without gradient is moved by the threshold alone in the dense optimiser, too; how moments
    of untouched rows stand still is the optimiser's own property test.
    """
    table = AnchorEmbedding(7, 4, 3, random_state=1).double()
    reference = DenseTransform(table)
    options = {} if kind == "sgd" else {"betas": (0.0, 0.999)}
    ours = make_optimiser(table, kind=kind, learning_rate=0.1, l1=l1, **options)
    groups = [{"params": [reference.values], "l1": l1, "nonnegative": True}, {"params": [reference.anchors]}]
    theirs = KINDS[kind](groups, 0.1, **options)
    target = torch.from_numpy(np.random.default_rng(0).normal(size=(7, 4)))
    for batch in batches:
        ids = torch.tensor(batch)
        for module, optimiser in ((table, ours), (reference, theirs)):
            optimiser.zero_grad()
            ((module(ids) - target[ids]) ** 2).sum().backward()
            optimiser.step()
    assert table.nnz() == int(reference.values.count_nonzero())
    torch.testing.assert_close(table.values, reference.values, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(table.anchors, reference.anchors, rtol=1e-9, atol=1e-12)


def test_gradients_and_state_grow_with_rows_and_slots():
    table = AnchorEmbedding(1000, 16, 50, num_slots=4)
    optimiser = make_optimiser(table, learning_rate=0.1, l1=0.1)
    table(torch.tensor([1, 5, 5])).sum().backward()
    gradient = table.values.grad
    assert gradient.is_sparse
    assert gradient._values().shape == (3, 4)
    optimiser.step()
    per_row = sum(tensor.numel() for tensor in optimiser.state[table.values].values()) / 1000
    assert per_row == 4 + 4 + 1 + 1  # two moments per slot, a count and a charge per row
