"""Codes in files that need no gossamer: SciPy's .npz and Parquet."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from gossamer.data.counts import Counts
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community import CommunityRecommender
from gossamer.models.counts import CountVAE
from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.models.linear import EASE
from gossamer.serving.export import write_codes
from gossamer.testing.right_answers import two_blocks, two_patterns, two_themes


def test_sparse_codes(tmp_path):
    data = two_patterns()
    model = SparseDiscreteVAE(num_features=6, max_active=2, encoder_dims=[4], decoder_dims=[4], epochs=1)
    codes = model.fit(data.train).transform(data.test)
    write_codes(model, data.test, tmp_path / "codes.npz")
    read = sparse.load_npz(tmp_path / "codes.npz")
    assert (read != codes).nnz == 0
    write_codes(model, data.test, tmp_path / "codes.parquet")
    table = pl.read_parquet(tmp_path / "codes.parquet")
    assert table.columns == ["row", "feature", "value"]
    again = sparse.csr_array((table["value"], (table["row"], table["feature"])), shape=codes.shape)
    assert (again != codes).nnz == 0


def test_rows_have_the_names_of_the_data(tmp_path):
    data = two_themes()
    model = CountVAE(latent_dim=2, encoder_dims=[4], epochs=1, inference="amortised").fit(data.train)
    named = Counts(data.test.matrix, data.test.terms, documents=Vocabulary([f"d{i}" for i in range(len(data.test))]))
    write_codes(model, named, tmp_path / "codes.parquet")
    table = pl.read_parquet(tmp_path / "codes.parquet")
    assert table["id"].to_list() == [f"d{row}" for row in table["row"]]
    np.testing.assert_allclose(table["value"], model.transform(named).ravel())


def test_communities(tmp_path):
    data = two_blocks().history
    model = CommunityRecommender(embedding_dim=4, num_communities=2, item_edges=3, epochs=1, batch_size=12).fit(data)
    write_codes(model, data, tmp_path / "memberships.parquet")
    table = pl.read_parquet(tmp_path / "memberships.parquet")
    np.testing.assert_allclose(table["value"].to_numpy().reshape(len(data), 2).sum(axis=1), 1, atol=1e-5)
    assert table["id"][0] == "user 0"


def test_mistakes(tmp_path):
    data = two_blocks().history
    with pytest.raises(ValueError, match=r"the model must be one with codes, such as count-vae .*, got EASE"):
        write_codes(EASE().fit(data), data, tmp_path / "codes.npz")
    with pytest.raises(ValueError, match=r"path must end in .npz or .parquet, got '.*codes.csv'"):
        write_codes(EASE().fit(data), data, tmp_path / "codes.csv")
    assert list(tmp_path.iterdir()) == []
