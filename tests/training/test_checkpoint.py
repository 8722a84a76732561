from __future__ import annotations

import math
import os
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from gossamer.training.checkpoint import copy_state, find_nan, read_checkpoint, write_checkpoint

scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
nested = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3)
        | st.dictionaries(st.sampled_from(["!tuple", "!tensor", "!dict", "!float"]), inner, max_size=1)
    ),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    """Equality with types, NaN equal to NaN, and order of keys."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and bytes(_raw(a)) == bytes(_raw(b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float):
        return math.copysign(1, a) == math.copysign(1, b) and (a == b or (math.isnan(a) and math.isnan(b)))
    return a == b


def _raw(tensor: torch.Tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(state=st.dictionaries(st.text(max_size=5), nested, max_size=4))
def test_everything_but_tensors_round_trips(state, tmp_path):
    write_checkpoint(state, tmp_path / "c")
    assert same(read_checkpoint(tmp_path / "c"), _without_nan_sign(state))


def _without_nan_sign(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    if isinstance(value, dict):
        return {key: _without_nan_sign(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_without_nan_sign(item) for item in value)
    return value


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool]
)
def test_tensors_round_trip_bit_for_bit(dtype, tmp_path):
    values = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    state = {"a": [values, values[:, 1], values.T], "b": (torch.zeros(0, 3, dtype=dtype), values[0, 0])}
    write_checkpoint(state, tmp_path / "c")
    assert same(read_checkpoint(tmp_path / "c"), state)


def test_keys_that_look_alike_do_not_collide(tmp_path):
    state = {"state": {1: torch.tensor(1.0), "1": torch.tensor(2.0)}}
    write_checkpoint(state, tmp_path / "c")
    assert same(read_checkpoint(tmp_path / "c"), state)


def test_tied_weights_are_stored_once(tmp_path):
    weight = torch.randn(100, 100)
    write_checkpoint({"a": weight, "b": weight, "c": weight[:50]}, tmp_path / "tied")
    loaded = read_checkpoint(tmp_path / "tied")
    assert all(torch.equal(loaded[name], weight) for name in "ab")
    assert torch.equal(loaded["c"], weight[:50])
    assert (tmp_path / "tied").stat().st_size < 1.6 * weight.nbytes


@pytest.mark.parametrize("name", ["Adam", "SGD", "Adagrad", "RMSprop", "SparseAdam", "NAdam", "Rprop"])
def test_optimiser_states_round_trip_and_continue_identically(name, tmp_path):
    def make() -> tuple[nn.Embedding, torch.optim.Optimizer]:
        module = nn.Embedding(5, 3, sparse=name == "SparseAdam")
        module.weight.data = torch.linspace(-1, 1, 15).reshape(5, 3)
        options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        return module, getattr(torch.optim, name)(module.parameters(), lr=0.1, **options)

    def train(module: nn.Embedding, optimiser: torch.optim.Optimizer, steps: range) -> None:
        for step in steps:
            optimiser.zero_grad()
            (module(torch.tensor([step % 5, 2])) ** 3).sum().backward()
            optimiser.step()

    module, optimiser = make()
    train(module, optimiser, range(4))
    state = {"module": dict(module.state_dict()), "optimiser": optimiser.state_dict()}
    write_checkpoint(state, tmp_path / "c")
    loaded = read_checkpoint(tmp_path / "c")
    assert same(loaded, state)
    train(module, optimiser, range(4, 8))

    resumed, resumed_optimiser = make()
    resumed.load_state_dict(loaded["module"])
    resumed_optimiser.load_state_dict(loaded["optimiser"])
    train(resumed, resumed_optimiser, range(4, 8))
    assert torch.equal(module.weight, resumed.weight)


def test_truncated_at_any_length_is_one_clear_sentence(tmp_path):
    path = tmp_path / "c"
    write_checkpoint({"weight": torch.arange(50.0), "epoch": 3}, path)
    content = path.read_bytes()
    for length in [0, 1, 7, 8, 9, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"checkpoint must be a complete file written by gossamer, got '.*c'"):
            read_checkpoint(path)
        assert path.read_bytes() == content[:length]


def test_one_flipped_bit_is_noticed_wherever_it_is(tmp_path):
    path = tmp_path / "c"
    write_checkpoint({"weight": torch.arange(8.0), "epoch": 3}, path)
    content = bytearray(path.read_bytes())
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="checkpoint must be a complete file"):
            read_checkpoint(path)


def test_a_foreign_safetensors_file_is_refused(tmp_path):
    from safetensors.torch import save_file

    save_file({"weight": torch.ones(2)}, tmp_path / "c")
    with pytest.raises(ValueError, match="its format is None, not 'gossamer-checkpoint-1'"):
        read_checkpoint(tmp_path / "c")


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failed_write_keeps_the_previous_checkpoint(function, tmp_path, monkeypatch):
    path = tmp_path / "deep" / "c"
    write_checkpoint({"epoch": 1}, path)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError, match="disk full"):
        write_checkpoint({"epoch": 2}, path)
    monkeypatch.undo()
    assert read_checkpoint(path) == {"epoch": 1}
    assert os.listdir(path.parent) == ["c"]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"a": {"b": object()}}, r"state\.a\.b must be a tensor, number, string, None .* got object"),
        ({"a": {(1, 2): 3}}, r"state\.a must have keys that are strings or integers, got \[\(1, 2\)\]"),
        ({"a": torch.eye(2).to_sparse()}, r"state\.a must be a dense tensor, got layout torch\.sparse_coo"),
    ],
)
def test_state_that_cannot_be_stored(state, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_checkpoint(state, tmp_path / "c")
    assert os.listdir(tmp_path) == []


def test_copy_state_shares_nothing():
    state = {"a": [torch.zeros(2), (torch.ones(1), 3)]}
    copied = copy_state(state)
    state["a"][0] += 1
    assert same(copied, {"a": [torch.zeros(2), (torch.ones(1), 3)]})


def test_find_nan_names_the_tensor_and_lets_infinities_pass():
    assert find_nan({"a": torch.tensor([math.inf, -math.inf]), "b": math.nan, "c": torch.tensor([1])}) is None
    assert find_nan({"a": torch.zeros(1), "b": [{"c": torch.tensor([0.0, math.nan])}]}) == "b.0.c"
