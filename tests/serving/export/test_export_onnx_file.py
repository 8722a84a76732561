"""The ONNX file: metadata, vocabularies beside it, whole or not at all; and what cannot be exported."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from gossamer.models.counts import CountVAE
from gossamer.models.discrete import SparseCodes
from gossamer.models.linear import EASE, BiasedMF
from gossamer.persistence.vocabularies import read_vocabulary
from gossamer.serving.export import graph, write_onnx
from gossamer.testing.right_answers import two_blocks, two_themes
from gossamer.version import __version__

onnx = pytest.importorskip("onnx")


def test_file_and_vocabularies(tmp_path):
    data = two_blocks().history
    model = BiasedMF(num_factors=2, epochs=2).fit(data)
    answers = write_onnx(model, tmp_path / "new" / "mf.onnx")
    files = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert files == ["mf.onnx", "mf.vocabulary.items.json", "mf.vocabulary.users.json"]
    assert read_vocabulary(tmp_path / "new" / "mf.vocabulary.items.json") == model.items_
    written = onnx.load(tmp_path / "new" / "mf.onnx")
    assert {prop.key: prop.value for prop in written.metadata_props} == {
        "gossamer": __version__,
        "class": "gossamer.models.linear.biased_mf:BiasedMF",
        "answers": answers,
        "vocabulary.users": "mf.vocabulary.users.json",
        "vocabulary.items": "mf.vocabulary.items.json",
    }
    assert written.doc_string == answers


def test_a_refused_model_leaves_what_was_there(tmp_path, monkeypatch):
    (tmp_path / "m.onnx").write_text("old")
    searched = CountVAE(latent_dim=2, encoder_dims=[4], inference="svi", epochs=1).fit(two_themes().train)
    with pytest.raises(ValueError, match="inference must be one with an encoder to be exported, got 'svi'"):
        write_onnx(searched, tmp_path / "m.onnx")
    codes = SparseCodes().fit(np.eye(3, dtype=np.float32), ["a", "b", "c"])
    with pytest.raises(ValueError, match="SparseCodes has nothing to export: it is an index to search in"):
        write_onnx(codes, tmp_path / "m.onnx")
    with pytest.raises(NotFittedError, match="EASE"):
        write_onnx(EASE(), tmp_path / "m.onnx")
    with pytest.raises(ValueError, match=r"the model must be an estimator of gossamer.models, got ndarray"):
        write_onnx(np.eye(2), tmp_path / "m.onnx")
    monkeypatch.setattr(graph, "LARGEST_BYTES", 10)
    with pytest.raises(ValueError, match="the model must take less than 2 GB in ONNX"):
        write_onnx(BiasedMF(num_factors=2, epochs=1).fit(two_blocks().history), tmp_path / "m.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]
    assert (tmp_path / "m.onnx").read_text() == "old"
