"""An exported table answers in onnxruntime as it does in torch and in NumPy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.models.embeddings import export
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.export import OPSET, export_onnx
from gossamer.models.embeddings.ratings.recommender import AnchorRecommender
from gossamer.persistence.lookup import NumpyTable
from gossamer.testing.planted import planted_anchors

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def sparse_table(num_embeddings: int = 50, num_anchors: int = 9, **options: Any) -> AnchorEmbedding:
    """A table with uneven rows, one of them empty."""
    table = AnchorEmbedding(num_embeddings, 8, num_anchors, num_slots=4, random_state=3, **options)
    with torch.no_grad():
        table.values[table.values < 0.4] = 0
        table.values[7] = 0
    return table


def run(path: Path, **inputs: np.ndarray) -> np.ndarray:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    (answer,) = session.run(None, inputs)
    return answer


@pytest.mark.parametrize("id_dtype", ["int64", "int32"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 1, 4)])
def test_rows_equal_those_of_torch_and_numpy(tmp_path: Path, id_dtype: str, shape: tuple[int, ...]) -> None:
    table = sparse_table(padding_idx=2)
    path = tmp_path / "table.onnx"
    export_onnx(table, path, num_axes=len(shape), id_dtype=id_dtype)
    ids = np.random.default_rng(0).integers(0, 50, shape).astype(id_dtype)
    vectors = run(path, ids=ids)
    assert vectors.dtype == np.float32
    assert vectors.shape == (*shape, 8)
    np.testing.assert_allclose(vectors, table(torch.from_numpy(ids)).detach(), atol=1e-5)
    np.testing.assert_allclose(vectors, NumpyTable.from_arrays(table.stored()).rows(ids), atol=1e-5)


@settings(max_examples=15)
@given(
    num_embeddings=st.integers(1, 300),
    num_anchors=st.sampled_from([1, 3, 255, 257]),
    density=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_every_row_of_any_table_is_exported(
    tmp_path_factory: pytest.TempPathFactory, num_embeddings: int, num_anchors: int, density: float
) -> None:
    num_anchors = min(num_anchors, num_embeddings)
    table = AnchorEmbedding(num_embeddings, 5, num_anchors)
    with torch.no_grad():
        table.values *= torch.rand(table.values.shape) < density
    path = tmp_path_factory.getbasetemp() / "any.onnx"
    export_onnx(table, path)
    vectors = run(path, ids=np.arange(num_embeddings))
    np.testing.assert_allclose(vectors, table.weight, atol=1e-5)


def test_empty_rows_and_padding_are_zero(tmp_path: Path) -> None:
    table = sparse_table(padding_idx=2)
    with torch.no_grad():
        table.values[2] = 1.0  # not reachable by training, but padding is zero whatever is stored
    export_onnx(table, tmp_path / "table.onnx")
    assert not run(tmp_path / "table.onnx", ids=np.array([2, 7])).any()


def test_switched_off_anchors_are_left_out(tmp_path: Path) -> None:
    table = sparse_table()
    table.num_active = 5
    export_onnx(table, tmp_path / "table.onnx")
    np.testing.assert_allclose(run(tmp_path / "table.onnx", ids=np.arange(50)), table.weight, atol=1e-5)


@pytest.mark.parametrize("shape", [(), (3,), (2, 4)])
def test_logits_equal_those_of_torch(tmp_path: Path, shape: tuple[int, ...]) -> None:
    table = sparse_table()
    export_onnx(table, tmp_path / "logits.onnx", graph="logits", num_axes=len(shape))
    hidden = torch.randn(*shape, 8)
    logits = run(tmp_path / "logits.onnx", hidden=hidden.numpy())
    assert logits.shape == (*shape, 50)
    np.testing.assert_allclose(logits, table.logits(hidden).detach(), atol=1e-5)


def test_a_stored_table_is_exported_without_its_model(tmp_path: Path) -> None:
    table = sparse_table()
    NumpyTable(**table.stored()).save(tmp_path / "table.safetensors")
    export_onnx(NumpyTable.load(tmp_path / "table.safetensors"), tmp_path / "table.onnx")
    np.testing.assert_allclose(run(tmp_path / "table.onnx", ids=np.arange(50)), table.weight, atol=1e-5)


def test_the_file_is_about_as_small_as_the_table(tmp_path: Path) -> None:
    table = AnchorEmbedding(5000, 32, ratio=20)
    export_onnx(table, tmp_path / "table.onnx")
    model = onnx.load(tmp_path / "table.onnx")
    assert model.opset_import[0].version == OPSET
    assert {node.op_type for node in model.graph.node} == {
        "Constant",
        "Gather",
        "Cast",
        "Unsqueeze",
        "MatMul",
        "Squeeze",
    }
    assert (tmp_path / "table.onnx").stat().st_size < 1.1 * table.nbytes()
    assert [file.name for file in tmp_path.iterdir()] == ["table.onnx"]


def test_what_cannot_be_exported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.onnx"
    with pytest.raises(ValueError, match="table must be an AnchorEmbedding or a NumpyTable, got Embedding"):
        export_onnx(torch.nn.Embedding(3, 2), path)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="graph must be one of 'rows', 'logits', got 'bag'"):
        export_onnx(sparse_table(), path, graph="bag")
    with pytest.raises(ValueError, match="id_dtype must be one of 'int64', 'int32', got 'uint8'"):
        export_onnx(sparse_table(), path, id_dtype="uint8")
    with pytest.raises(ValueError, match="num_axes must be an integer >= 0, got -1"):
        export_onnx(sparse_table(), path, num_axes=-1)
    monkeypatch.setattr(export, "LARGEST_BYTES", 100)
    with pytest.raises(ValueError, match="table must take less than 2 GB in ONNX, got 50 rows of 4 weights"):
        export_onnx(sparse_table(), path)
    assert not path.exists()


def test_a_missing_extra_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'gossamer\[export\]'"):
        export_onnx(sparse_table(), tmp_path / "table.onnx")


def test_tables_of_an_artifact_are_looked_up_and_exported(tmp_path: Path) -> None:
    model = AnchorRecommender(embedding_dim=4, user_anchors=6, item_anchors=6, epochs=2)
    model.fit(planted_anchors(num_users=40, num_items=30).data).save(tmp_path / "model")
    stored = NumpyTable.load(tmp_path / "model", "items")
    weight = AnchorRecommender.load(tmp_path / "model").model_.items.weight
    np.testing.assert_allclose(stored.rows(np.arange(30)), weight, atol=1e-5)
    export_onnx(stored, tmp_path / "items.onnx")
    np.testing.assert_allclose(run(tmp_path / "items.onnx", ids=np.arange(30)), weight, atol=1e-5)
