from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gossamer.models.embeddings.rivals import tensor_train_contract
from gossamer.models.embeddings.rivals.tensor_train_contract import (
    _contract_compiled,
    contract_prefixes,
    contract_rows,
    contract_scores,
)

Cores = tuple[Tensor, Tensor, Tensor]


def draw_cores(v: tuple[int, int, int], d: tuple[int, int, int], r: tuple[int, int], seed: int = 0) -> Cores:
    generator = torch.Generator().manual_seed(seed)

    def core(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)

    return core(v[0], d[0], r[0]), core(r[0], v[1], d[1], r[1]), core(v[2], r[1], d[2])


def whole_table(cores: Cores) -> Tensor:
    first, second, third = cores
    rows = len(first) * second.shape[1] * len(third)
    return torch.einsum("xar,rycs,zsd->xyzacd", first, second, third).reshape(rows, -1)


sides = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))


@settings(max_examples=60)
@given(sides, sides, st.tuples(st.integers(1, 3), st.integers(1, 3)), st.integers(0, 9), st.data())
def test_rows_and_scores_equal_the_full_contraction(v, d, r, seed, data) -> None:
    cores = draw_cores(v, d, r, seed)
    whole = whole_table(cores).detach()
    ids = torch.tensor(data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=40)), dtype=torch.long)
    torch.testing.assert_close(contract_rows(*cores, ids), whole[ids])
    hidden = torch.randn(3, whole.shape[1], dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(contract_scores(*cores, hidden), hidden @ whole.T)


WAYS = {
    "few rows": torch.tensor([7, 399]),
    "many rows, in groups": torch.arange(400),
    "many rows, one of them most of the time": torch.tensor([5] * 300 + list(range(100))),
    "many rows, one last digit": torch.arange(0, 400, 10),
}


@pytest.mark.parametrize("width", [(1, 1, 6), (3, 2, 1)])
@pytest.mark.parametrize("way", sorted(WAYS))
def test_every_way_has_the_rows_and_gradients_of_the_full_contraction(way: str, width: tuple[int, int, int]) -> None:
    cores, ids = draw_cores((8, 5, 10), width, (3, 4)), WAYS[way]
    target = torch.randn(len(ids), 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    rows, expected = contract_rows(*cores, ids), whole_table(cores)[ids]
    torch.testing.assert_close(rows, expected)
    gradients = torch.autograd.grad((rows * target).sum(), cores)
    for gradient, wanted in zip(gradients, torch.autograd.grad((expected * target).sum(), cores), strict=True):
        torch.testing.assert_close(gradient, wanted)


def test_the_ways_are_different_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, the test above could take one way four times."""
    taken: list[str] = []
    for name in ("_contract_each", "_contract_groups", "_prefixes_of"):
        original = getattr(tensor_train_contract, name)

        def spy(*args: Tensor, name: str = name, original=original) -> Tensor | None:
            result = original(*args)
            taken.append(name if result is not None else f"no {name}")
            return result

        monkeypatch.setattr(tensor_train_contract, name, spy)
    cores = draw_cores((16, 8, 10), (1, 1, 6), (3, 4))
    seen = []
    for ids in WAYS.values():
        taken.clear()
        contract_rows(*cores, ids)
        seen.append(list(taken))
    assert seen == [
        ["_prefixes_of", "_contract_each"],
        ["_contract_groups"],
        ["no _contract_groups", "_contract_groups"],
        ["no _contract_groups", "no _contract_groups", "_contract_each"],
    ]


def test_prefixes_by_hand() -> None:
    first, second, _ = draw_cores((2, 3, 1), (2, 2, 1), (2, 3))
    prefixes = contract_prefixes(first, second)
    expected = torch.einsum("ar,rcs->acs", first[1], second[:, 2]).reshape(4, 3)
    torch.testing.assert_close(prefixes[1 * 3 + 2], expected)


ranks = st.tuples(st.integers(1, 9), st.integers(1, 9))  # the compiled loops take four at a time


@settings(max_examples=60)
@given(sides, sides, ranks, st.sampled_from([torch.float32, torch.float64]), st.data())
def test_compiled_rows_equal_the_full_contraction(v, d, r, dtype, data) -> None:
    cores = tuple(core.detach().to(dtype) for core in draw_cores(v, d, r))
    whole = whole_table(cores)
    ids = torch.tensor(data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=40)), dtype=torch.long)
    rows = _contract_compiled(*cores, ids)
    torch.testing.assert_close(rows, whole[ids], atol=1e-4 if dtype == torch.float32 else 1e-9, rtol=1e-4)


@pytest.mark.parametrize("width", [(1, 1, 6), (3, 2, 1)])
@pytest.mark.parametrize("num_rows", [10, 2000])  # one part of the loops, and several
def test_compiled_rows_are_the_rows_with_gradients(num_rows: int, width: tuple[int, int, int]) -> None:
    cores = draw_cores((20, 15, 10), width, (3, 6))
    ids = torch.randint(3000, (num_rows,), generator=torch.Generator().manual_seed(2))
    rows = contract_rows(*cores, ids)
    assert rows.requires_grad
    torch.testing.assert_close(_contract_compiled(*cores, ids), rows.detach())


def test_compiled_rows_take_tensors_as_they_lie_in_memory() -> None:
    first, second, third = (core.detach() for core in draw_cores((4, 5, 6), (2, 1, 3), (3, 4)))
    ids = torch.arange(120)
    expected = whole_table((first, second, third))
    scattered = third.transpose(1, 2).contiguous().transpose(1, 2)
    assert not scattered.is_contiguous()
    torch.testing.assert_close(contract_rows(first, second, scattered, ids), expected)
    torch.testing.assert_close(contract_rows(first, second, third, ids[::3]), expected[::3])
    torch.testing.assert_close(contract_rows(first, second, third, ids.int()), expected)
    assert contract_rows(first, second, third, ids[:0]).shape == (0, 6)


def test_a_diverged_core_is_seen_in_its_rows() -> None:
    first, second, third = (core.detach() for core in draw_cores((4, 5, 6), (2, 2, 2), (3, 4)))
    third[2, 1, 1] = torch.nan
    rows = contract_rows(first, second, third, torch.tensor([1, 2]))
    assert rows[0].isfinite().all()
    assert rows[1].isnan().tolist() == [False, True] * 4


@pytest.mark.parametrize("wrong", [-1, 120])
def test_a_wrong_id_is_named_before_memory_is_read(wrong: int) -> None:
    cores = [core.detach() for core in draw_cores((4, 5, 6), (2, 2, 2), (3, 4))]
    with pytest.raises(ValueError, match=f"ids must be from 0 to 119, got {wrong}"):
        contract_rows(*cores, torch.tensor([3, wrong, 5]))


class TestWhenLoopsAreCompiled:
    @pytest.fixture
    def compiled(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Return the numbers of rows that compiled loops were asked for."""
        asked: list[int] = []

        def spy(*args: Tensor) -> Tensor:
            asked.append(len(args[3]))
            return _contract_compiled(*args)

        monkeypatch.setattr(tensor_train_contract, "_contract_compiled", spy)
        return asked

    def test_without_gradients(self, compiled: list[int]) -> None:
        cores = draw_cores((4, 5, 6), (2, 2, 2), (3, 4))
        with torch.no_grad():
            contract_rows(*cores, torch.arange(7))
        contract_rows(*[core.detach() for core in cores], torch.arange(8))
        assert compiled == [7, 8]

    @pytest.mark.parametrize("learning", range(3))
    def test_never_where_one_core_learns(self, compiled: list[int], learning: int) -> None:
        cores = [core.detach() for core in draw_cores((4, 5, 6), (2, 2, 2), (3, 4))]
        cores[learning].requires_grad_()
        contract_rows(*cores, torch.arange(7)).sum().backward()
        assert cores[learning].grad is not None
        assert compiled == []

    def test_not_for_long_groups_of_a_wide_third_core(self, compiled: list[int]) -> None:
        cores = [core.detach() for core in draw_cores((16, 8, 10), (1, 1, 6), (3, 4))]
        for num_rows in (319, 320):
            ids = torch.arange(num_rows)
            torch.testing.assert_close(contract_rows(*cores, ids), whole_table(cores)[ids])
        assert compiled == [319]

    def test_not_for_numbers_that_numba_does_not_have(self, compiled: list[int]) -> None:
        cores = [core.detach().bfloat16() for core in draw_cores((4, 5, 6), (2, 2, 2), (3, 4))]
        assert contract_rows(*cores, torch.arange(7)).dtype == torch.bfloat16
        assert compiled == []

    @pytest.mark.parametrize("recorder", ["torch.compiler.is_compiling", "torch.jit.is_tracing"])
    def test_not_while_a_graph_is_recorded(
        self, compiled: list[int], recorder: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recorder, lambda: True)
        contract_rows(*[core.detach() for core in draw_cores((4, 5, 6), (2, 2, 2), (3, 4))], torch.arange(7))
        assert compiled == []
