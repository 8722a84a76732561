"""What is refused, and what stays: the rest of compressing estimators is in tests/test_composition.py."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.models.catalogue import available
from gossamer.models.community import LightGCN
from gossamer.models.counts import CDAE, CountVAE
from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.models.discrete.rows import Rows
from gossamer.models.embeddings import AnchorLanguageModel
from gossamer.models.linear import EASE
from gossamer.models.lowrank import Budget
from gossamer.models.spikeslab import SentenceProbe
from gossamer.runner.compressing_estimators import ROWS_AT_ONCE, WHY_NOT, can_be_compressed, compress_estimator
from gossamer.testing.right_answers import two_blocks, two_themes, two_topics

BUDGET = Budget(params=0.9)


@pytest.fixture(scope="module")
def autoencoder():
    return CDAE(hidden_dim=8, epochs=2, batch_size=8).fit(two_blocks().history)


def test_the_estimator_stays_as_it_was(autoencoder):
    data = two_blocks().history
    before = autoencoder.recommend(data).scores
    small, report = compress_estimator(autoencoder, data, BUDGET)
    assert report.share("params") <= 0.9
    assert small.network_ is not autoencoder.network_
    np.testing.assert_array_equal(autoencoder.recommend(data).scores, before)
    again, _ = compress_estimator(autoencoder, data, BUDGET)
    np.testing.assert_array_equal(small.recommend(data).scores, again.recommend(data).scores)


def test_layers_by_name_and_search(autoencoder):
    data = two_blocks().history
    small, report = compress_estimator(
        autoencoder, data, BUDGET, allocator="cobla", only=["output_*"], iterations=2, random_state=1
    )
    assert [layer.names for layer in report.layers if layer.rank is not None] == [("network.output_layer",)]
    assert np.isfinite(small.recommend(data, 3).scores).all()
    with pytest.raises(ValueError, match="keep must match a layer"):
        compress_estimator(autoencoder, data, BUDGET, keep=["head"])


def test_rows_of_codes_are_made_dense_a_few_at_a_time(monkeypatch):
    rows = sparse.csr_array((np.random.default_rng(0).random((2000, 30)) < 0.2).astype(np.float32))
    model = SparseDiscreteVAE(observation="counts", num_features=6, max_active=2, encoder_dims=[8], epochs=1)
    model.fit(rows)
    sizes = []
    take = Rows.take
    monkeypatch.setattr(Rows, "take", lambda self, chosen: sizes.append(len(self)) or take(self, chosen))
    _, report = compress_estimator(model, rows, BUDGET)
    assert report.share("params") <= 0.9
    assert max(sizes) <= ROWS_AT_ONCE


def test_every_reason_is_that_of_an_estimator():
    assert set(WHY_NOT) <= {estimator.__name__ for estimator in available().values()}


def test_refusals(autoencoder):
    data, texts = two_blocks().history, two_themes().train
    linear = EASE().fit(data)
    assert not can_be_compressed(linear)
    with pytest.raises(ValueError, match="estimator must be one with a network that can be split, which EASE has not"):
        compress_estimator(linear, data, BUDGET)
    with pytest.raises(ValueError, match="which LightGCN has not: it has a table of ids and no layers; docs/composit"):
        compress_estimator(LightGCN(), data, BUDGET)
    small, _ = compress_estimator(autoencoder, data, BUDGET)
    with pytest.raises(ValueError, match="must be whole to be compressed, got one that is compressed already"):
        compress_estimator(small, data, BUDGET)
    with pytest.raises(ValueError, match="data must have at least one row, got none"):
        compress_estimator(autoencoder, data[:0], BUDGET)
    searched = CountVAE(latent_dim=2, encoder_dims=[4], inference="svi", epochs=1).fit(texts)
    with pytest.raises(ValueError, match="inference must be one with an encoder for a model to be compressed"):
        compress_estimator(searched, texts, BUDGET)


def test_a_probe_and_the_codes_that_it_reads_stay_one():
    data = two_topics()
    settings = {"latent_dim": 4, "embedding_dim": 8, "hidden_dim": 8, "epochs": 1}
    model = SentenceProbe(vae=settings, hidden_dims=[8], epochs=1).fit(data.train)
    before = model.predict_probs(data.test)
    small, _ = compress_estimator(model, data.train, Budget(params=0.8, of="layers"))
    assert small.vae_.network_ is small.network_.network
    assert model.vae_.network_ is model.network_.network
    assert set(small.evaluate(data.test)) == set(model.evaluate(data.test))
    np.testing.assert_array_equal(model.predict_probs(data.test), before)


def test_a_language_model_that_drops_its_own_weights_is_refused():
    data = two_topics()
    model = AnchorLanguageModel(network="awd-lstm", method="dense", ratio=None, embedding_dim=4, hidden_dim=4, epochs=1)
    with pytest.raises(ValueError, match="network='awd-lstm' drops entries of its own matrices"):
        compress_estimator(model.fit(data.train), data.train, BUDGET)
