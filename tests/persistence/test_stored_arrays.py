"""Arrays are what was expected, and CSR matrices survive being dense arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from gossamer.persistence import check_array, check_names, is_mapped, own_array, pack_csr, unpack_csr
from gossamer.persistence.tensors import read_tensors, write_tensors

DENSE = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6),
    elements=st.sampled_from([0.0, 0.0, 1.5]),
)


@given(dense=DENSE)
def test_csr_survives(dense: np.ndarray) -> None:
    back = unpack_csr("codes", pack_csr("codes", csr_array(dense)))
    np.testing.assert_array_equal(back.toarray(), dense)
    assert back.dtype == dense.dtype
    assert back.has_canonical_format


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (3, 4)])
def test_csr_without_entries_survives(shape: tuple[int, int]) -> None:
    assert unpack_csr("codes", pack_csr("codes", csr_array(shape, dtype=np.float32))).shape == shape


def test_unsorted_and_repeated_entries_are_stored_in_order() -> None:
    unsorted = csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    packed = pack_csr("codes", unsorted)
    assert packed["codes.indices"].tolist() == [0, 2]
    assert packed["codes.data"].tolist() == [2.0, 4.0]
    assert unsorted.nnz == 3  # the caller's matrix is left alone


def _packed(**changes: Any) -> dict[str, np.ndarray]:
    matrix = csr_array(np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], np.float32))
    return pack_csr("c", matrix) | {f"c.{name}": array for name, array in changes.items()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indptr": np.array([0, 2, 1, 3], np.int32)}, r"array 'c.indptr' must rise from 0 to 3"),
        ({"indptr": np.array([1, 1, 1, 3], np.int32)}, r"array 'c.indptr' must rise from 0 to 3"),
        ({"indptr": np.array([0, 1, 1, 2], np.int32)}, r"array 'c.indptr' must rise from 0 to 3"),
        ({"indptr": np.array([0, 1, 3], np.int32)}, r"array 'c.indptr' must have shape \(4\), got \(3,\)"),
        ({"indptr": np.array([0, 1, 1, 3], np.int64)}, r"array 'c.indptr' must be int32, got int64"),
        ({"indices": np.array([1, 0, 3], np.int32)}, r"array 'c.indices' must lie in 0..2, got 0..3"),
        ({"indices": np.array([-1, 0, 2], np.int32)}, r"array 'c.indices' must lie in 0..2, got -1..2"),
        ({"indices": np.array([1, 2, 2], np.int32)}, r"array 'c.indices' must rise inside each row"),
        ({"indices": np.array([1, 2, 0], np.int32)}, r"array 'c.indices' must rise inside each row"),
        ({"indices": np.array([1, 0], np.int32)}, r"array 'c.indices' must have shape \(3\), got \(2,\)"),
        ({"data": np.zeros((3, 1))}, r"array 'c.data' must have shape \(any\), got \(3, 1\)"),
        ({"shape": np.array([3, 3], np.int32)}, r"array 'c.shape' must be int64, got int32"),
        ({"shape": np.array([-1, 3])}, r"array 'c.shape' must not be negative, got \[-1, 3\]"),
        ({"shape": np.array([3, -3])}, r"array 'c.shape' must not be negative, got \[3, -3\]"),
        ({"shape": np.array([1 << 62, 3])}, r"array 'c.indptr' must have shape"),
        (
            {"indices": np.zeros(3, np.uint8), "indptr": np.array([0, 1, 2, 3], np.uint8)},
            r"array 'c.indices' must be int32 or int64, got uint8",
        ),
    ],
)
def test_arrays_that_are_no_csr_matrix_are_refused(changes: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unpack_csr("c", _packed(**changes))


def test_an_int32_matrix_too_wide_for_its_indices_is_still_sound() -> None:
    wide = unpack_csr("c", _packed(shape=np.array([3, 1 << 40])))
    assert wide.shape == (3, 1 << 40)
    assert wide[[2], [2]] == 3


def test_check_array_returns_what_it_was_asked_for() -> None:
    arrays = {"a": np.zeros((2, 3), np.float32)}
    assert check_array(arrays, "a") is arrays["a"]
    assert check_array(arrays, "a", "float32", (2, None)) is arrays["a"]


@pytest.mark.parametrize(
    ("name", "dtype", "shape", "message"),
    [
        ("b", None, None, "arrays must include 'b', got a"),
        ("a", np.float64, None, "array 'a' must be float64, got float32"),
        ("a", None, (2,), r"array 'a' must have shape \(2\), got \(2, 3\)"),
        ("a", None, (None, 4), r"array 'a' must have shape \(any, 4\), got \(2, 3\)"),
    ],
)
def test_check_array_names_what_is_wrong(name: str, dtype: Any, shape: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_array({"a": np.zeros((2, 3), np.float32)}, name, dtype, shape)


def test_check_names_wants_exactly_these() -> None:
    check_names({"a": 1}, {"a"})
    with pytest.raises(ValueError, match="vocabularies must be named a, got none"):
        check_names({}, {"a"}, "vocabularies")


def test_what_lies_in_a_file_is_kept_and_all_else_is_copied(tmp_path: Path) -> None:
    write_tensors(tmp_path / "file", {"a": np.arange(6.0).reshape(2, 3)})
    mapped = read_tensors(tmp_path / "file", mapped=True)["a"]
    assert is_mapped(mapped)
    assert is_mapped(mapped[1:, ::2])
    assert own_array(mapped) is mapped
    read_only = np.memmap(tmp_path / "file", mode="r")
    for array in (np.arange(6.0), read_tensors(tmp_path / "file")["a"], read_only):
        own = own_array(array)
        np.testing.assert_array_equal(own, array)
        assert own.flags.writeable
        assert not np.shares_memory(own, array)
