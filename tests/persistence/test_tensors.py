"""Tensor files with hostile headers or arrays that do not fit."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from probing import refusal, reseal
from safetensors.numpy import load_file, save_file

from gossamer.persistence.errors import ArtifactError
from gossamer.persistence.tensors import read_tensors, write_tensors


@pytest.mark.parametrize("length", [10 << 30, (1 << 64) - 1, 17 << 20, 600])
def test_a_declared_huge_header_is_refused_unread(saved: Path, length: int) -> None:
    content = (saved / "model.safetensors").read_bytes()
    (saved / "model.safetensors").write_bytes(struct.pack("<Q", length) + content[8:])
    reseal(saved)
    assert f"model.safetensors declares a header of {length} bytes in a file of {len(content)}" in refusal(saved)


def test_tensors_without_even_a_header(saved: Path) -> None:
    (saved / "model.safetensors").write_bytes(b"1234567")
    reseal(saved)
    assert "model.safetensors must begin with 8 bytes of header length, got 7 bytes" in refusal(saved)


def test_a_huge_header_is_refused_even_where_the_file_has_it(saved: Path) -> None:
    length = 17 << 20
    with (saved / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", length))
        file.truncate(8 + length)
    reseal(saved)
    assert f"declares a header of {length} bytes" in refusal(saved)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, "must be a valid safetensors file"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1 << 60]}}, "must be a valid safetensors file"),
        ({"a": {"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 4]}}, "must be a valid"),
        ({"a": {"dtype": "PICKLE", "shape": [1], "data_offsets": [0, 4]}}, "must be a valid safetensors file"),
        (
            {"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}},
            "must hold bools, ints or floats, got BF16 'a'",
        ),
        ({"a": {"dtype": "C64", "shape": [0], "data_offsets": [0, 0]}}, "must be a valid safetensors file"),
        ({"a": {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]}}, "must hold only 0 and 1 in the bools of 'a'"),
        ([], "must be a valid safetensors file"),
    ],
)
def test_a_hostile_tensor_header(saved: Path, header: Any, message: str) -> None:
    text = json.dumps(header).encode()
    (saved / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"\2\0\0\0")
    reseal(saved)
    assert message in refusal(saved)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("weights", np.zeros((3, 4)), "array 'weights' must be float32, got float64"),
        ("weights", np.zeros((4, 3), np.float32), r"array 'weights' must have shape (3, 4), got (4, 3)"),
        ("weights", None, "arrays must include 'weights'"),
        ("codes.indptr", np.array([0, 3, 1, 3], np.int32), "array 'codes.indptr' must rise from 0 to 3"),
        ("codes.indices", np.array([1, 0, 7], np.int32), "array 'codes.indices' must lie in 0..2, got 0..7"),
    ],
)
def test_wrong_tensors_are_named_with_their_artifact(saved: Path, name: str, array: Any, message: str) -> None:
    arrays = load_file(saved / "model.safetensors")
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    save_file(arrays, saved / "model.safetensors")
    reseal(saved)
    assert f"{saved} does not fit gossamer.models._probe:Probe: {message}" in refusal(saved)


def test_mapped_arrays_are_the_same_and_writing_to_them_changes_no_file(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    dtypes = "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"
    arrays = {f"a.{dtype}": (100 * generator.random((3, 5))).astype(dtype) for dtype in dtypes}
    arrays |= {"empty": np.zeros((0, 4), np.float32), "scalar": np.array(2.5)}
    write_tensors(tmp_path / "file", arrays)
    before = (tmp_path / "file").read_bytes()
    mapped = read_tensors(tmp_path / "file", mapped=True)
    assert list(mapped) == list(read_tensors(tmp_path / "file"))
    for name, array in arrays.items():
        np.testing.assert_array_equal(mapped[name], array)
        assert (mapped[name].dtype, type(mapped[name])) == (array.dtype, np.ndarray)
        assert mapped[name].flags.aligned
    mapped["a.f4"][:] = 0
    assert (tmp_path / "file").read_bytes() == before


def test_mapped_arrays_outlive_the_file(tmp_path: Path) -> None:
    write_tensors(tmp_path / "file", {"a": np.arange(9.0)})
    mapped = read_tensors(tmp_path / "file", mapped=True)
    (tmp_path / "file").unlink()
    assert mapped["a"].sum() == 36


def test_a_hostile_header_is_refused_before_anything_is_mapped(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 99]}}).encode()
    (tmp_path / "file").write_bytes(struct.pack("<Q", len(header)) + header + bytes(16))
    with pytest.raises(ArtifactError, match="must be a valid safetensors file"):
        read_tensors(tmp_path / "file", mapped=True)
