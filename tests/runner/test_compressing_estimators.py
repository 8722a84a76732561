"""What is refused, and what stays: the rest of compressing estimators is in tests/test_composition.py."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from torch import nn

from gossamer.models.catalogue import available
from gossamer.models.community import LightGCN
from gossamer.models.counts import CDAE, CountVAE, Unigram
from gossamer.models.discrete import SparseCountRegressor, SparseDiscreteVAE, SparseLabelClassifier
from gossamer.models.discrete.label_network import MemberLinear, SeparateLinear
from gossamer.models.discrete.rows import Rows
from gossamer.models.embeddings import AnchorLanguageModel, AnchorRecommender, NonparametricRecommender
from gossamer.models.linear import EASE
from gossamer.models.lowrank import Budget, CompressedClassifier, CompressedLanguageModel
from gossamer.models.markov import NeuralEM
from gossamer.models.spikeslab import SentenceProbe
from gossamer.networks.low_rank import LowRankConvolution
from gossamer.networks.unrolled import UnrolledLSTM
from gossamer.runner.compressing_estimators import ROWS_AT_ONCE, WHY_NOT, can_be_compressed, compress_estimator
from gossamer.testing.right_answers import lit_lamps, two_blocks, two_patterns, two_phases, two_themes, two_topics

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


def test_a_language_model_that_drops_its_own_weights_has_layers_afterwards():
    data = two_topics()
    model = AnchorLanguageModel(network="awd-lstm", method="dense", ratio=None, embedding_dim=8, hidden_dim=10)
    model.set_params(num_steps=6, epochs=2, batch_size=4).fit(data.train)
    before = model.evaluate(data.test)
    small, report = compress_estimator(model, data.train, Budget(params=0.8, of="layers"))
    assert report.layers_share("params") <= 0.8
    assert any(isinstance(layer, UnrolledLSTM) for layer in small.network_.layers)
    assert all(isinstance(layer, nn.LSTM) for layer in model.network_.layers)
    assert model.evaluate(data.test) == before
    assert 1 < small.evaluate(data.test)["perplexity"] < len(small.words_)
    assert len(small.sample(3, random_state=0)) == 3
    same, _ = compress_estimator(model, data.train, Budget(params=1.0))
    assert same.evaluate(data.test) == before


@pytest.fixture(scope="module")
def labeller():
    settings = {"hidden_dims": [16], "num_folds": 2, "num_repeats": 2, "max_active": 2, "temperature": 1.0}
    return SparseLabelClassifier(**settings, dropout=0.0, input_dropout=0.0, epochs=40).fit(lit_lamps().train)


def test_members_of_a_label_classifier_share_one_budget(labeller):
    data = lit_lamps()
    probs, arrays = labeller.predict_proba(data.test), {k: v.copy() for k, v in labeller.learned_arrays().items()}
    small, report = compress_estimator(labeller, data.train, Budget(params=0.75))
    assert report.share("params") <= 0.75
    stored = sum(parameter.numel() for parameter in small.network_.parameters())
    assert stored <= 0.75 * sum(parameter.numel() for parameter in labeller.network_.parameters())
    assert len(report.layers) == 2 * labeller.network_.num_members
    assert (small.predict(data.test).sum(axis=1) <= small.max_active_).all()
    assert set(small.evaluate(data.test)) == set(labeller.evaluate(data.test))
    np.testing.assert_array_equal(labeller.predict_proba(data.test), probs)
    for name, array in labeller.learned_arrays().items():
        np.testing.assert_array_equal(array, arrays[name])


def test_a_label_classifier_keeps_what_need_not_be_split(labeller):
    data = lit_lamps().train
    small, report = compress_estimator(labeller, data.inputs, Budget(params=0.9), only=["encoder.layers.0.*"])
    split = {layer.names[0] for layer in report.layers if layer.rank is not None}
    assert split <= {f"network.encoder.layers.0.members.{number}" for number in range(4)}
    assert [type(layer) for layer in small.network_.encoder.layers] == [SeparateLinear, MemberLinear]
    with pytest.raises(ValueError, match="must be whole to be compressed, got one that is compressed already"):
        compress_estimator(small, data, BUDGET)
    same, _ = compress_estimator(labeller, data, Budget(params=1.0))
    np.testing.assert_array_equal(same.predict_proba(data), labeller.predict_proba(data))


def test_convolutions_that_count_are_split():
    images = np.random.default_rng(0).random((30, 8, 8))
    counts = (images > 0.97).sum(axis=(1, 2))[:, None]
    model = SparseCountRegressor(encoder="conv", channels=[6, 6], epochs=1).fit(images, counts)
    before = model.predict(images)
    small, report = compress_estimator(model, images, Budget(params=0.8, macs=0.9))
    assert report.share("params") <= 0.8
    assert report.share("macs") <= 0.9
    assert any(isinstance(layer, LowRankConvolution) for layer in small.network_.layers)
    assert small.predict(images).shape == before.shape
    np.testing.assert_array_equal(model.predict(images), before)
    with pytest.raises(ValueError, match="must be whole to be compressed, got one that is compressed already"):
        compress_estimator(small, images, BUDGET)


def test_models_with_a_budget_of_their_own_take_this_one():
    data = two_patterns()
    settings = {"hidden_dims": [16], "epochs": 3, "batch_size": 16, "search_rows": 16, "allocator": "pos_cvx"}
    model = CompressedClassifier(**settings).fit(data.train)
    before = model.predict_proba(data.test)
    small, report = compress_estimator(model, data.train, Budget(params=0.7, of="layers"), keep=["4"])
    assert small.compression_report is small.report_ is report
    assert report.layers_share("params") <= 0.7
    changed = {"params": 0.7, "budget_of": "layers", "keep": ["4"]}
    assert small.get_params() == model.get_params() | changed  # the budget, and nothing else
    assert model.report_ is None
    np.testing.assert_array_equal(model.predict_proba(data.test), before)
    with pytest.raises(ValueError, match="must be whole to be compressed, got one that is compressed already"):
        compress_estimator(small, data.train, BUDGET)
    with pytest.raises(ValueError, match=r"budget must be a Budget, such as Budget\(macs=0.5\), got 0.5"):
        compress_estimator(model, data.train, 0.5)


def test_a_language_model_with_a_budget_of_its_own():
    data = two_topics()
    settings = {"embedding_dim": 8, "hidden_dim": 8, "num_layers": 1, "num_samples": None, "epochs": 1}
    model = CompressedLanguageModel(**settings, num_steps=5, batch_size=4, allocator="pos_cvx").fit(data.train)
    before = model.evaluate(data.test)["perplexity"]
    small, report = compress_estimator(model, data.train, Budget(params=0.8))
    assert report.share("params") <= 0.8
    assert small.evaluate(data.test)["params_share"] <= 0.8
    assert model.evaluate(data.test)["perplexity"] == before


# What a model of the catalogue must be for this door; all others are refused with a reason.
TAKEN = {
    *("cdae", "count-recommender", "count-vae", "mult-vae"),
    *("gumbel-vae", "sparse-count-regressor", "sparse-discrete-vae", "sparse-label-classifier"),
    *("anchor-language-model", "anchor-text-classifier", "communities", "neural-em", "sentence-probe", "sentence-vae"),
    *("compressed-classifier", "compressed-language-model"),
}
NO_NETWORK = {
    *("als", "biased-mf", "ease", "hmm", "hsmm", "item-knn", "label-linear", "ml-knn", "popularity", "slim", "unigram"),
}


def test_every_estimator_of_the_catalogue_is_taken_or_has_a_reason():
    with_reason = {name for name, estimator in available().items() if estimator.__name__ in WHY_NOT}
    assert with_reason | TAKEN | NO_NETWORK == set(available())
    assert with_reason & TAKEN == {"neural-em"}  # by its method


def test_reasons():
    data, series = two_blocks().history, two_phases().train
    pooled = NeuralEM(num_states=2, method="pooled-em", num_starts=1, start_epochs=2, epochs=1).fit(series)
    with pytest.raises(ValueError, match=r"NeuralEM has not: of its methods only neural-em, .* have a network"):
        compress_estimator(pooled, series, BUDGET)
    with pytest.raises(ValueError, match="which AnchorRecommender has not: it has tables of ids, which method and rat"):
        compress_estimator(AnchorRecommender(), data, BUDGET)
    with pytest.raises(ValueError, match="which NonparametricRecommender has not: it has tables of ids, which are com"):
        compress_estimator(NonparametricRecommender(), data, BUDGET)
    for model in (CDAE(), CompressedClassifier()):
        with pytest.raises(ValueError, match=f"which {type(model).__name__} has not: it has not been fitted"):
            compress_estimator(model, data, BUDGET)
    with pytest.raises(ValueError, match="which Unigram has not: it has no network"):
        compress_estimator(Unigram().fit(two_themes().train), two_themes().train, BUDGET)
