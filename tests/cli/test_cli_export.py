"""`gossamer export`: graphs, codes and vectors of a saved model, and mistakes in one sentence."""

from __future__ import annotations

import polars as pl
import pytest
from scipy import sparse

from gossamer.models.counts import CountVAE
from gossamer.models.linear import ALS, EASE
from gossamer.runner.provenance import Origin
from gossamer.runner.specs import DataSpec, SplitSpec
from gossamer.testing.right_answers import two_blocks, two_themes

DOCUMENTS = "document,term,count\nd1,a0,2\nd1,a1,1\nd2,b0,3\nd2,zzz,1\n"


@pytest.fixture
def models(tmp_path):
    history = two_blocks().history
    EASE(regularization=1.0).fit(history).save(tmp_path / "ease")
    ALS(num_factors=2, epochs=1).fit(history).save(tmp_path / "als")
    vae = CountVAE(latent_dim=2, encoder_dims=[4], inference="amortised", epochs=1).fit(two_themes().train)
    origin = Origin("count-vae", DataSpec("train.csv", {}, {}, None, None, None), SplitSpec("rows", seed=0), "0" * 64)
    vae.save(tmp_path / "vae", provenance=origin.as_json())
    (tmp_path / "docs.csv").write_text(DOCUMENTS)
    return tmp_path


def test_graph(gossamer, models):
    onnx = pytest.importorskip("onnx")
    done = gossamer("export", "ease", "--to", "onnx", "--out", "out/ease.onnx")
    assert done.code == 0, done.err
    assert "it answers as recommend" in done.out
    assert [value.name for value in onnx.load(models / "out" / "ease.onnx").graph.input] == ["items", "values"]


def test_codes_of_other_data(gossamer, models):
    for file in ("codes.parquet", "codes.npz"):
        done = gossamer("export", "vae", "--to", file.split(".")[1], "--data", "docs.csv", "--out", file)
        assert done.code == 0, done.err
        assert "4 entries of 2 codes of 2 features" in done.out
    assert pl.read_parquet(models / "codes.parquet")["id"].to_list() == ["d1", "d1", "d2", "d2"]
    assert sparse.load_npz(models / "codes.npz").shape == (2, 2)


def test_vectors(gossamer, models):
    done = gossamer("export", "als", "--to", "word2vec", "--out", "items.txt")
    assert done.code == 0, done.err
    assert "12 vectors of 2 numbers" in done.out
    assert (models / "items.txt").read_text().startswith("12 2\na0 ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ease", "--to", "pmml", "--out", "x"), "--to must be one of"),
        (("ease", "--to", "onnx", "--out", "x.onnx", "--data", "d.csv"), "--data must be left out with --to onnx"),
        (("ease", "--to", "onnx", "--out", "x.onnx", "--table", "items"), "--table must be left out with --to onnx"),
        (("vae", "--to", "npz", "--out", "x.parquet"), "--out must end in .npz"),
        (("ease", "--to", "word2vec", "--out", "x.txt"), "the model must be one with vectors"),
        (("nothing", "--to", "onnx", "--out", "x.onnx"), "nothing does not exist"),
    ],
)
def test_mistakes(gossamer, models, arguments, sentence):
    done = gossamer("export", *arguments)
    assert done.code == 2
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert not list(models.glob("x*"))
