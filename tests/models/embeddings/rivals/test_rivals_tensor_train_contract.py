from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gossamer.models.embeddings.rivals import tensor_train_contract
from gossamer.models.embeddings.rivals.tensor_train_contract import contract_prefixes, contract_rows, contract_scores

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
