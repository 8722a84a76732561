"""Row-sparse gradients: deferred thresholds against a dense reference that applies each of them at its step."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from gossamer.training import ProximalAdam, ProximalSGD, ProximalYogi, soft_threshold
from gossamer.training.proximal import ProximalOptimiser

ROWS, COLUMNS = 4, 2


@dataclass
class DenseReference:
    """The documented meaning, in NumPy: every row is visited at every step."""

    kind: str
    weight: np.ndarray
    nonnegative: bool
    mean: np.ndarray = field(init=False)
    square: np.ndarray = field(init=False)
    count: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.mean = np.zeros_like(self.weight)
        self.square = np.full_like(self.weight, 1e-2 if self.kind == "yogi" else 0.0)
        self.count = np.zeros(len(self.weight), dtype=int)

    def metric(self, row: int) -> np.ndarray:
        if self.kind in ("sgd", "momentum"):
            return np.full(COLUMNS, 1.0 if self.kind == "sgd" else 0.1)
        if self.kind == "yogi":
            return np.sqrt(self.square[row]) + 1e-1
        if not self.count[row]:
            return np.full(COLUMNS, np.inf)
        return np.sqrt(self.square[row] / (1 - 0.99 ** self.count[row])) + 1e-1

    def step(self, lr: float, l1: np.ndarray, gradients: dict[int, np.ndarray]) -> None:
        for row in range(len(self.weight)):
            if row in gradients:
                gradient = gradients[row]
                self.count[row] += 1
                beta = 0.0 if self.kind == "sgd" else 0.9
                self.mean[row] = direction = beta * self.mean[row] + (1 - beta) * gradient
                if self.kind == "adam":
                    self.square[row] = 0.99 * self.square[row] + 0.01 * gradient**2
                    direction = direction / (1 - beta ** self.count[row])
                if self.kind == "yogi":
                    self.square[row] -= 0.01 * np.sign(self.square[row] - gradient**2) * gradient**2
                self.weight[row] -= lr * direction / self.metric(row)
            threshold = lr * l1[row] / self.metric(row)
            shrunk = np.maximum(np.abs(self.weight[row]) - threshold, 0) * np.sign(self.weight[row])
            one_sided = np.maximum(self.weight[row] - threshold, 0)
            self.weight[row] = one_sided if self.nonnegative else shrunk


def make_optimiser(kind: str, weight: nn.Parameter, l1: float | Tensor, nonnegative: bool) -> ProximalOptimiser:
    common = {"l1": l1, "nonnegative": nonnegative}
    if kind in ("sgd", "momentum"):
        return ProximalSGD([weight], 0.1, momentum=0.0 if kind == "sgd" else 0.9, **common)
    if kind == "adam":
        return ProximalAdam([weight], 0.1, betas=(0.9, 0.99), eps=1e-1, **common)
    return ProximalYogi([weight], 0.1, betas=(0.9, 0.99), eps=1e-1, initial_accumulator=1e-2, **common)


def sparse_gradient(gradients: dict[int, np.ndarray]) -> Tensor:
    indices = torch.tensor([sorted(gradients)], dtype=torch.int64).reshape(1, -1)
    values = torch.tensor(np.array([gradients[row] for row in sorted(gradients)]).reshape(-1, COLUMNS))
    return torch.sparse_coo_tensor(indices, values, (ROWS, COLUMNS), check_invariants=True)


numbers = st.floats(-2, 2).map(lambda x: round(x, 3))
row_values = st.lists(numbers, min_size=COLUMNS, max_size=COLUMNS).map(np.array)
sparse_steps = st.lists(
    st.fixed_dictionaries(
        {
            "gradients": st.dictionaries(st.integers(0, ROWS - 1), row_values, max_size=ROWS),
            "lr": st.sampled_from([0.0, 0.01, 0.1, 0.5]),
            "l1": st.sampled_from([0.0, 0.05, 0.3, 1.0]),
            "catch_up": st.none() | st.lists(st.integers(0, ROWS - 1), max_size=4) | st.just("all"),
        }
    ),
    min_size=1,
    max_size=12,
)
cases = given(
    kind=st.sampled_from(["sgd", "momentum", "adam", "yogi"]),
    start=st.lists(row_values, min_size=ROWS, max_size=ROWS).map(np.array),
    nonnegative=st.booleans(),
    mask=st.none() | st.lists(st.sampled_from([0.0, 0.2, 1.0]), min_size=ROWS, max_size=ROWS).map(np.array),
    steps=sparse_steps,
)


def check_against_dense_reference(kind, start, nonnegative, mask, steps) -> None:
    weight = nn.Parameter(torch.tensor(start))
    l1 = 0.0 if mask is None else torch.tensor(mask)[:, None]
    optimiser = make_optimiser(kind, weight, l1, nonnegative)
    reference = DenseReference(kind, start.copy(), nonnegative)
    # The parameter's first gradient starts its bookkeeping; let it be empty, so that no row is special.
    for step in [{"gradients": {}, "lr": 0.1, "l1": 0.1, "catch_up": None}, *steps]:
        optimiser.param_groups[0]["lr"] = step["lr"]
        if mask is None:
            optimiser.param_groups[0]["l1"] = step["l1"]
        weight.grad = sparse_gradient(step["gradients"])
        optimiser.step()
        charges = np.full(ROWS, step["l1"]) if mask is None else mask
        reference.step(step["lr"], charges[:, None] * np.ones(COLUMNS), step["gradients"])
        if step["catch_up"] == "all":
            optimiser.catch_up()
        elif step["catch_up"] is not None:
            optimiser.catch_up(weight, torch.tensor(step["catch_up"], dtype=torch.int64))
    optimiser.catch_up()
    np.testing.assert_allclose(weight.detach().numpy(), reference.weight, atol=1e-9)


@settings(max_examples=80)
@cases
def test_row_sparse_equals_the_dense_reference(kind, start, nonnegative, mask, steps):
    check_against_dense_reference(kind, start, nonnegative, mask, steps)


@pytest.mark.slow
@settings(max_examples=2_000)
@cases
def test_row_sparse_equals_the_dense_reference_in_thousands_of_cases(kind, start, nonnegative, mask, steps):
    check_against_dense_reference(kind, start, nonnegative, mask, steps)


def test_touching_every_row_is_the_dense_optimiser():
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(ROWS, COLUMNS, generator=generator)
    for kind in ("sgd", "momentum", "adam", "yogi"):
        dense, sparse = nn.Parameter(start.clone()), nn.Parameter(start.clone())
        optimisers = [make_optimiser(kind, weight, 0.2, False) for weight in (dense, sparse)]
        for _ in range(10):
            dense.grad = torch.randn(ROWS, COLUMNS, generator=generator)
            indices = torch.arange(ROWS)[None]
            sparse.grad = torch.sparse_coo_tensor(indices, dense.grad, check_invariants=True)
            for optimiser in optimisers:
                optimiser.step()
        torch.testing.assert_close(dense, sparse)


def test_yogi_without_momentum_is_dense_yogi_whatever_the_sparsity():
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(20, 3, generator=generator)
    dense, sparse = (nn.Embedding(20, 3, sparse=flag, _weight=start.clone()) for flag in (False, True))
    optimisers = [ProximalYogi(m.parameters(), 0.01, betas=(0.0, 0.999), l1=0.02) for m in (dense, sparse)]
    for _ in range(40):
        tokens = torch.randint(0, 15, (3,), generator=generator)  # the last rows only ever shrink
        optimisers[1].catch_up(sparse.weight, tokens)
        for module, optimiser in zip((dense, sparse), optimisers, strict=True):
            optimiser.zero_grad()
            (module(tokens) - 1).square().mean().backward()
            optimiser.step()
    optimisers[1].catch_up()
    torch.testing.assert_close(dense.weight, sparse.weight)
    assert bool((sparse.weight[15:] == 0).all())


def test_only_touched_rows_are_written_before_catch_up():
    weight = nn.Parameter(torch.ones(ROWS, COLUMNS, dtype=torch.float64))
    optimiser = make_optimiser("sgd", weight, 1.0, False)
    for _ in range(3):
        weight.grad = sparse_gradient({1: np.zeros(COLUMNS)})
        optimiser.step()
    assert weight[[0, 2, 3]].unique().tolist() == [1.0]
    optimiser.catch_up(weight, torch.tensor([2, 2]))
    assert weight[:, 0].tolist() == pytest.approx([1.0, 0.7, 0.7, 1.0])
    optimiser.state_dict()
    assert weight[:, 0].tolist() == pytest.approx([0.7] * 4)


def test_a_step_without_gradient_charges_every_row():
    weight = nn.Parameter(torch.ones(ROWS, COLUMNS, dtype=torch.float64))
    optimiser = make_optimiser("sgd", weight, 1.0, False)
    weight.grad = sparse_gradient({1: np.zeros(COLUMNS)})
    optimiser.step()
    optimiser.zero_grad()
    optimiser.step()
    optimiser.catch_up()
    assert weight.unique().tolist() == pytest.approx([0.8])


def test_adam_does_not_charge_a_row_before_its_first_gradient():
    weight = nn.Parameter(torch.ones(ROWS, COLUMNS, dtype=torch.float64))
    optimiser = make_optimiser("adam", weight, 10.0, False)
    weight.grad = sparse_gradient({1: np.ones(COLUMNS)})
    optimiser.step()
    optimiser.catch_up()
    assert weight[[0, 2, 3]].unique().tolist() == [1.0]


def test_long_catch_ups_go_in_blocks(monkeypatch):
    monkeypatch.setattr("gossamer.training.proximal.ROWS_AT_ONCE", 3)
    weight = nn.Parameter(torch.ones(ROWS, COLUMNS, dtype=torch.float64))
    optimiser = make_optimiser("sgd", weight, 1.0, False)
    weight.grad = sparse_gradient({})
    optimiser.step()
    optimiser.catch_up()
    assert weight.unique().tolist() == pytest.approx([0.9])


def test_a_copied_optimiser_works():
    weight = nn.Parameter(torch.ones(ROWS, COLUMNS))
    original = make_optimiser("adam", weight, 1.0, False)
    copied = copy.deepcopy(original)
    twin = copied.param_groups[0]["params"][0]
    twin.grad = torch.ones(ROWS, COLUMNS)
    copied.step()
    copied.catch_up()
    assert bool((weight == 1).all())
    weight.grad = torch.ones(ROWS, COLUMNS)
    original.step()
    torch.testing.assert_close(twin, weight)


def test_a_mask_may_change_only_after_catch_up():
    weight = nn.Parameter(torch.ones(ROWS, COLUMNS, dtype=torch.float64))
    mask = torch.ones(ROWS, 1)
    optimiser = make_optimiser("sgd", weight, mask, False)
    weight.grad = sparse_gradient({1: np.zeros(COLUMNS)})
    optimiser.step()
    mask[0] = 0
    with pytest.raises(
        ValueError, match=r"l1 must stay the same while rows have skipped thresholds.*call catch_up\(\)"
    ):
        optimiser.step()
    optimiser.catch_up()
    optimiser.step()
    optimiser.catch_up()
    assert weight[:, 0].tolist() == pytest.approx([1.0, 0.8, 0.8, 0.8])


def test_wrong_gradients():
    weight = nn.Parameter(torch.ones(ROWS, COLUMNS, dtype=torch.float64))
    optimiser = make_optimiser("sgd", weight, 1.0, False)
    weight.grad = torch.eye(ROWS, COLUMNS, dtype=torch.float64).to_sparse()
    with pytest.raises(ValueError, match="a sparse gradient must have one sparse dimension, got 2"):
        optimiser.step()
    weight.grad = sparse_gradient({1: np.zeros(COLUMNS)})
    optimiser.step()
    weight.grad = torch.zeros(ROWS, COLUMNS, dtype=torch.float64)
    with pytest.raises(ValueError, match="always dense or always row-sparse, got a dense one after row-sparse ones"):
        optimiser.step()
    with pytest.raises(ValueError, match="parameter must be given where rows are, got None"):
        optimiser.catch_up(rows=torch.tensor([0]))


def test_soft_threshold_is_the_minimiser():
    grid = torch.linspace(-4, 4, 8001, dtype=torch.float64)
    for nonnegative in (False, True):
        candidates = grid[grid >= 0] if nonnegative else grid
        for value in (-2.5, -0.3, 0.0, 0.4, 3.1):
            objective = 0.5 * (candidates - value).square() + 0.7 * candidates.abs()
            found = soft_threshold(torch.tensor([value], dtype=torch.float64), 0.7, nonnegative)
            assert found.item() == pytest.approx(candidates[objective.argmin()].item(), abs=1e-3)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_threshold_has_the_gradient_of_its_formula(nonnegative):
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(30, dtype=torch.float64, generator=generator)
    threshold = torch.full_like(values, 0.3)
    values = values[(values.abs() - 0.3).abs() > 1e-3].requires_grad_()  # away from the kinks
    threshold = threshold[: len(values)].requires_grad_()
    assert torch.autograd.gradcheck(lambda v, t: soft_threshold(v, t, nonnegative), (values, threshold))


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_threshold_solves_its_problem(nonnegative):
    grid = torch.linspace(0 if nonnegative else -3, 3, 6001, dtype=torch.float64)
    for value in (-2.0, -0.2, 0.1, 0.7, 2.5):
        objective = 0.5 * (grid - value) ** 2 + 0.3 * grid.abs()
        found = soft_threshold(torch.tensor(value, dtype=torch.float64), 0.3, nonnegative)
        assert abs(float(found) - float(grid[objective.argmin()])) < 1e-3


@pytest.mark.parametrize("kind", ["sgd", "adam", "yogi"])
def test_exempt_entries_are_stepped_but_never_shrunk(kind):
    """Row-sparse and dense alike: an exempt entry moves as if l1 were zero, the others as if nothing were exempt."""
    make = {"sgd": ProximalSGD, "adam": ProximalAdam, "yogi": ProximalYogi}[kind]
    start = torch.tensor([[1.0, 1.0], [1.0, 1.0]])
    exempt = torch.tensor([[True, False], [False, True]])
    found = {}
    for name, l1, mask in (("both", 0.5, exempt), ("none", 0.0, None), ("all", 0.5, None)):
        weight = torch.nn.Parameter(start.clone())
        optimiser = make([{"params": [weight], "exempt": mask}], lr=0.1, l1=l1)
        for rows in ([0, 1], [0], [0], [1]):
            values = torch.full((len(rows), 2), 0.1)
            weight.grad = torch.sparse_coo_tensor(torch.tensor([rows]), values, weight.shape, check_invariants=True)
            optimiser.step()
        optimiser.catch_up()
        found[name] = weight.detach()
    torch.testing.assert_close(found["both"], torch.where(exempt, found["none"], found["all"]))


def test_an_exempt_mask_has_its_parameters_shape():
    with pytest.raises(ValueError, match=r"exempt must be bool \(2, 2\), got torch.bool \(2,\)"):
        ProximalSGD([{"params": [torch.nn.Parameter(torch.ones(2, 2))], "exempt": torch.ones(2, dtype=torch.bool)}])


def test_appended_rows_begin_without_state():
    """After `grow_rows`, old rows go on as if nothing had happened, and new ones as in a fresh optimiser."""
    weight = torch.nn.Parameter(torch.ones(2, 3))
    optimiser = ProximalYogi([weight], lr=0.1, l1=0.1)
    twin_weight = torch.nn.Parameter(torch.ones(2, 3))
    twin = ProximalYogi([twin_weight], lr=0.1, l1=0.1)

    def update(parameter, chosen, rows):
        values = torch.ones(len(rows), 3)
        parameter.grad = torch.sparse_coo_tensor(torch.tensor([rows]), values, parameter.shape, check_invariants=True)
        chosen.step()

    for parameter, chosen in ((weight, optimiser), (twin_weight, twin)):
        update(parameter, chosen, [0, 1])
    weight.data = torch.cat([weight.data, torch.ones(1, 3)])
    optimiser.grow_rows(weight)
    update(weight, optimiser, [0, 2])
    update(twin_weight, twin, [0])
    optimiser.catch_up()
    twin.catch_up()
    torch.testing.assert_close(weight[:2], twin_weight)
    fresh = torch.nn.Parameter(torch.ones(1, 3))
    update(fresh, ProximalYogi([fresh], lr=0.1, l1=0.1), [0])
    torch.testing.assert_close(weight[2:], fresh)


def test_forgotten_entries_have_fresh_moments():
    weight = torch.nn.Parameter(torch.ones(2, 3))
    optimiser = ProximalYogi([weight], lr=0.1, initial_accumulator=0.5)
    weight.grad = torch.ones(2, 3)
    optimiser.step()
    optimiser.forget_entries(weight, torch.tensor([1]), torch.tensor([2]))
    state = optimiser.state[weight]
    assert (state["mean"][1, 2].item(), state["square"][1, 2].item()) == (0.0, 0.5)
    assert state["mean"][0, 2].item() != 0
