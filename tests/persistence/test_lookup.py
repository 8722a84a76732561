"""Looking up vectors needs NumPy alone, answers as T·A does, and refuses what is not a table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from scipy.sparse import random_array

from gossamer.persistence import ArtifactError
from gossamer.persistence.lookup import PARTS, NumpyTable, table_names


def parts(num_rows: int = 7, num_anchors: int = 4, width: int = 3, density: float = 0.4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = random_array((num_rows, num_anchors), density=density, format="csr", dtype=np.float32, rng=rng)
    return {
        "anchors": rng.normal(size=(num_anchors, width)).astype(np.float32),
        "values": codes.data,
        "columns": codes.indices.astype(np.uint8),
        "indptr": codes.indptr.astype(np.int32),
    }


def dense(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Every vector, by the definition."""
    table = np.zeros((len(arrays["indptr"]) - 1, arrays["anchors"].shape[1]), np.float64)
    for row, (begin, end) in enumerate(zip(arrays["indptr"], arrays["indptr"][1:], strict=False)):
        for entry in range(begin, end):
            table[row] += arrays["values"][entry] * arrays["anchors"][arrays["columns"][entry]]
    return table


@given(
    ids=st.lists(st.integers(0, 6), max_size=20),
    density=st.sampled_from([0.0, 0.2, 1.0]),
    dtype=st.sampled_from([np.uint8, np.int32, np.int64]),
)
def test_rows_are_sums_of_anchors(ids: list[int], density: float, dtype: Any) -> None:
    arrays = parts(density=density)
    rows = NumpyTable(**arrays).rows(np.array(ids, dtype))
    assert rows.dtype == np.float32
    assert rows.shape == (len(ids), 3)
    np.testing.assert_allclose(rows, dense(arrays)[ids], rtol=1e-5, atol=1e-6)


def test_ids_have_any_shape() -> None:
    table = NumpyTable(**parts())
    ids = np.array([[0, 3, 3], [6, 1, 2]])
    rows = table.rows(ids)
    assert rows.shape == (2, 3, 3)
    np.testing.assert_array_equal(rows[1, 0], table.rows(6))
    assert table.rows([]).shape == (0, 3)


def test_logits_are_inner_products_with_every_row() -> None:
    arrays = parts()
    hidden = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    logits = NumpyTable(**arrays).logits(hidden)
    np.testing.assert_allclose(logits, hidden @ dense(arrays).T, rtol=1e-4, atol=1e-5)


def test_a_saved_table_is_the_same(tmp_path: Path) -> None:
    table = NumpyTable(**parts())
    table.save(tmp_path / "deep" / "table.safetensors")
    again = NumpyTable.load(tmp_path / "deep" / "table.safetensors")
    assert again.shape == table.shape == (7, 3)
    for part in PARTS:
        stored = getattr(again, part)
        assert stored.dtype == getattr(table, part).dtype
        np.testing.assert_array_equal(stored, getattr(table, part))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["table.safetensors"]


def test_tables_in_one_file_have_names(tmp_path: Path) -> None:
    named = {f"{name}.{part}": array for name in ("users", "items") for part, array in parts().items()}
    save_file({**named, "mean": np.ones(1, np.float32)}, tmp_path / "model.safetensors")
    assert table_names(named) == ["items", "users"]
    assert NumpyTable.load(tmp_path / "model.safetensors", "items").shape == (7, 3)
    with pytest.raises(ArtifactError, match="one of 'items', 'users'; got None"):
        NumpyTable.load(tmp_path / "model.safetensors")
    with pytest.raises(ArtifactError, match="got 'films'"):
        NumpyTable.load(tmp_path / "model.safetensors", "films")


def test_files_that_are_no_table_are_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="nowhere is missing"):
        NumpyTable.load(tmp_path / "nowhere")
    (tmp_path / "short").write_bytes(b"no")
    with pytest.raises(ArtifactError, match="short must begin with 8 bytes"):
        NumpyTable.load(tmp_path / "short")
    save_file({"weight": np.ones((2, 2), np.float32)}, tmp_path / "other.safetensors")
    with pytest.raises(ArtifactError, match=r"other\.safetensors cannot be looked up: .* one of none"):
        NumpyTable.load(tmp_path / "other.safetensors")
    with pytest.raises(ArtifactError, match=r"config\.json is missing"):
        NumpyTable.load(tmp_path)


@pytest.mark.parametrize(
    ("part", "array", "message"),
    [
        ("anchors", np.ones((4, 3)), "'anchors' must be float32, got float64"),
        ("anchors", np.full((4, 3), np.nan, np.float32), "'anchors' must be finite"),
        ("values", np.ones(3, np.float32), r"'columns' must have shape \(3\)"),
        ("columns", np.full(11, 4, np.uint8), r"'columns' must lie in 0\.\.3, got 4\.\.4"),
        ("columns", np.ones(11, np.float32), "'columns' must hold integers, got float32"),
        ("indptr", np.array([0, 9, 4, 11]), "'indptr' must rise from 0 to 11"),
        ("indptr", np.array([0]), "'indptr' must rise"),
    ],
)
def test_damaged_arrays_are_named(part: str, array: np.ndarray, message: str) -> None:
    arrays = parts()
    assert len(arrays["values"]) == 11
    with pytest.raises(ValueError, match=message):
        NumpyTable(**{**arrays, part: array})


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([0, 7], "ids must be from 0 to 6, got 7"),
        ([-1], "ids must be from 0 to 6, got -1"),
        ([0.5], "ids must be integers, got float64"),
        ([True], "ids must be integers, got bool"),
    ],
)
def test_impossible_ids_are_named(ids: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NumpyTable(**parts()).rows(ids)


def test_no_torch_is_imported(tmp_path: Path) -> None:
    NumpyTable(**parts()).save(tmp_path / "table.safetensors")
    program = (
        "import sys; from gossamer.persistence.lookup import NumpyTable; "
        "print(NumpyTable.load(sys.argv[1]).rows([1]).shape, 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "table.safetensors")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 3) False"
