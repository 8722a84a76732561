"""Families put together: anchors inside other models, networks of all families within a budget, codes as features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import gossamer
from gossamer.data.arrays import LabelledArrays
from gossamer.data.interactions import Interactions
from gossamer.data.parts import Parts
from gossamer.data.sequences import Sequences
from gossamer.models.community import CommunityRecommender
from gossamer.models.counts import CDAE, CountRecommender, CountVAE, MultVAE
from gossamer.models.discrete import GumbelVAE, SparseCountRegressor, SparseDiscreteVAE, SparseLabelClassifier
from gossamer.models.embeddings import AnchorEmbedding, AnchorLanguageModel, AnchorTextClassifier, make_optimiser
from gossamer.models.embeddings.text.text_training import pad_texts
from gossamer.models.lowrank import Budget
from gossamer.models.markov import NeuralEM
from gossamer.models.spikeslab import SentenceProbe, SentenceVAE
from gossamer.networks.text_cnn import TextCNN
from gossamer.runner.compressing_estimators import compress_estimator
from gossamer.runner.embeddings import embed_users
from gossamer.testing.export_parity import assert_parity
from gossamer.testing.right_answers import burning_candles as candles
from gossamer.testing.right_answers import (
    lit_lamps,
    two_blocks,
    two_patterns,
    two_phases,
    two_themes,
    two_topics,
)

SMALL = {"epochs": 2, "batch_size": 12}
COUNTS = {"latent_dim": 4, "encoder_dims": [12], **SMALL}
CODES = {"num_features": 6, "encoder_dims": [12], "decoder_dims": [12], **SMALL}
SENTENCES = {"latent_dim": 4, "embedding_dim": 8, "hidden_dim": 12, **SMALL}
COMMUNITIES = {"embedding_dim": 8, "num_communities": 2, "item_edges": 3, **SMALL}
TEXTS = {"ratio": None, "num_filters": 6, **SMALL}
WORDS = {"ratio": None, "embedding_dim": 8, "hidden_dim": 10, "num_steps": 6, "epochs": 2, "batch_size": 4}
LABELS = {"hidden_dims": [12, 12], "num_folds": 2, "num_repeats": 1, "max_active": 2, "temperature": 1.0, "epochs": 3}
NEURAL = {"num_states": 2, "hidden_dim": 8, "num_starts": 1, "start_epochs": 3, "epochs": 1, "batch_size": 4}


def test_anchors_inside_a_sentence_vae(tmp_path):
    data = two_topics()
    num_words = len(data.train.vocabulary)
    table = AnchorEmbedding(num_words, 8, num_anchors=4, num_slots=2, sparse=False)
    before = table.anchors.detach().clone()
    model = SentenceVAE(**SENTENCES).fit(data.train, table=table)
    assert not torch.equal(table.anchors, before), "the anchors were trained"
    assert model.transform(data.test).shape == (len(data.test), 4)
    assert len(model.sample(3, random_state=0)) == 3
    assert_parity(model, data.test)  # the graph has anchors inside
    codes = model.transform(data.test).toarray()
    model.save(tmp_path / "anchors")  # with the anchors, as they are
    kept = gossamer.load(tmp_path / "anchors")
    np.testing.assert_allclose(kept.transform(data.test).toarray(), codes, atol=1e-6)
    assert isinstance(kept.network_.vectors.table, AnchorEmbedding)
    assert_parity(kept, data.test)
    model.write_out_table()
    model.save(tmp_path / "model")  # with plain rows
    sizes = [sum(array.size for array in found.learned_arrays().values()) for found in (kept, model)]
    assert sizes[0] < sizes[1]
    loaded = gossamer.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.transform(data.test).toarray(), codes, atol=1e-6)


def test_anchors_inside_a_community_recommender(tmp_path):
    data = two_blocks()
    table = AnchorEmbedding(data.history.num_items, 8, num_anchors=4, num_slots=2, sparse=False)
    model = CommunityRecommender(**COMMUNITIES).fit(data.history, item_embedding=table)
    with torch.no_grad():
        learned = table(torch.arange(data.history.num_items))
    torch.testing.assert_close(model.network_.neighbour_encoder.ids.weight.detach(), learned)
    model.save(tmp_path / "model")
    first, second = (m.recommend(data.history, 3) for m in (model, gossamer.load(tmp_path / "model")))
    np.testing.assert_array_equal(first.scores, second.scores)


def test_anchors_inside_the_text_cnn(tmp_path):
    data = two_topics()
    num_words = len(data.train.vocabulary)
    network = TextCNN(AnchorEmbedding(num_words, 8, num_anchors=4), 2, num_filters=6, dropout=0.0)
    optimiser = make_optimiser(network, learning_rate=0.02, l1=1e-3)
    rows = data.train
    tokens = pad_texts(rows, np.arange(len(rows)), 50)
    labels = torch.from_numpy(rows.labels.astype(np.int64))
    for _ in range(40):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(tokens), labels).backward()
        optimiser.step()
    network.eval()
    assert (network(tokens).argmax(dim=1) == labels).float().mean() > 0.9
    # The estimator of the family is the same, with an artifact.
    model = AnchorTextClassifier(num_anchors=4, ratio=None, embedding_dim=8, num_filters=6, **SMALL).fit(rows)
    model.save(tmp_path / "model")
    again = gossamer.load(tmp_path / "model").predict_probs(data.test)
    np.testing.assert_allclose(again, model.predict_probs(data.test), atol=1e-6)


def test_a_table_that_nothing_could_rebuild_is_not_saved(tmp_path):
    class Own(nn.Embedding):
        """A table of the caller's, whose class no artifact may name."""

    data = two_topics()
    model = SentenceVAE(**SENTENCES).fit(data.train, table=Own(len(data.train.vocabulary), 8))
    with pytest.raises(ValueError, match="table and encoder must be the model's own for an artifact"):
        model.save(tmp_path / "model")
    model.write_out_table()
    model.save(tmp_path / "model")


def spots() -> Parts:
    """Return images of faint noise with bright spots, their number as the count."""
    generator = np.random.default_rng(0)
    images = generator.random((40, 8, 8)) / 10
    images[np.arange(40)[:, None], generator.integers(8, size=(40, 3)), generator.integers(8, size=(40, 3))] = 1.0
    data = LabelledArrays(images, (images == 1.0).sum(axis=(1, 2))[:, None], target_names=("spot",))
    return Parts(data[:24], data[24:32], data[32:])


FITTED = {
    "CountVAE": lambda: (CountVAE(decoder_dims=[12], **COUNTS), two_themes()),
    "CountRecommender": lambda: (CountRecommender(decoder_dims=[12], **COUNTS), two_blocks()),
    "MultVAE": lambda: (MultVAE(latent_dim=4, hidden_dims=[12], **SMALL), two_blocks()),
    "CDAE": lambda: (CDAE(hidden_dim=12, **SMALL), two_blocks()),
    "SparseDiscreteVAE": lambda: (SparseDiscreteVAE(max_active=2, gate_dims=[8], **CODES), two_patterns()),
    "GumbelVAE": lambda: (GumbelVAE(num_options=2, **CODES), two_patterns()),
    "SentenceVAE": lambda: (SentenceVAE(**SENTENCES), two_topics()),
    "CommunityRecommender": lambda: (CommunityRecommender(**COMMUNITIES), two_blocks()),
    "NeuralEM": lambda: (NeuralEM(**NEURAL), two_phases()),
    "AnchorTextClassifier": lambda: (AnchorTextClassifier(num_anchors=4, embedding_dim=8, **TEXTS), two_topics()),
    "dense text classifier": lambda: (AnchorTextClassifier(method="dense", embedding_dim=8, **TEXTS), two_topics()),
    "AnchorLanguageModel": lambda: (AnchorLanguageModel(num_anchors=4, **WORDS), two_topics()),
    "dense language model": lambda: (AnchorLanguageModel(method="dense", num_layers=2, **WORDS), two_topics()),
    "AWD-LSTM": lambda: (AnchorLanguageModel(num_anchors=4, network="awd-lstm", **WORDS), two_topics()),
    "dense AWD-LSTM": lambda: (AnchorLanguageModel(method="dense", network="awd-lstm", **WORDS), two_topics()),
    "SentenceProbe": lambda: (SentenceProbe(vae=SENTENCES, hidden_dims=[8], **SMALL), two_topics()),
    "simple classifier": lambda: (
        SentenceProbe(vae=SENTENCES, hidden_dims=[8], end_to_end=True, **SMALL),
        two_topics(),
    ),
    "SparseCountRegressor": lambda: (SparseCountRegressor(hidden_dims=[12, 12], channels=[2], **SMALL), candles()),
    "counts in images": lambda: (
        SparseCountRegressor(encoder="conv", hidden_dims=[], channels=[6, 6], **SMALL),
        spots(),
    ),
    "SparseLabelClassifier": lambda: (SparseLabelClassifier(**LABELS), lit_lamps()),
    "conditional label classifier": lambda: (
        SparseLabelClassifier(variant="conditional", num_latent=4, **LABELS),
        lit_lamps(),
    ),
}


def answer(model, data):
    if isinstance(data, Interactions):
        return model.recommend(data, 3).scores
    if isinstance(data, Sequences):
        return model.predict_proba(data)
    if isinstance(model, AnchorLanguageModel):
        return model.log_likelihood(data)
    if isinstance(model, AnchorTextClassifier | SentenceProbe):
        return model.predict_probs(data)
    if isinstance(model, SparseCountRegressor):
        return model.predict(data)
    if isinstance(model, SparseLabelClassifier):
        return model.predict_proba(data)
    codes = model.transform(data)
    return codes if isinstance(codes, np.ndarray) else codes.toarray()


@pytest.mark.parametrize("name", FITTED)
def test_networks_within_a_budget(name, tmp_path):
    """A compressed estimator answers, is saved and loaded, and where it has a graph, exported, as a whole one is."""
    model, data = FITTED[name]()
    train, test = (data.history, data.history) if hasattr(data, "history") else (data.train, data.test)
    model.fit(train)
    small, report = compress_estimator(model, train, Budget(params=0.7, of="layers"))
    assert report.layers_share("params") <= 0.7 + 1e-9
    assert any(layer.rank is not None for layer in report.layers)
    stored, whole = (sum(array.size for array in m.learned_arrays().values()) for m in (small, model))
    assert stored < whole
    small.save(tmp_path / "small")
    loaded = gossamer.load(tmp_path / "small")
    np.testing.assert_array_equal(answer(loaded, test), answer(small, test))
    assert loaded.get_params() == model.get_params()
    pytest.importorskip("onnxruntime")
    assert_parity(loaded, test, tolerance=1e-4)


def test_a_full_budget_changes_nothing_to_speak_of():
    data = two_patterns()
    model = SparseDiscreteVAE(max_active=2, gate_dims=[8], **CODES).fit(data.train)
    small, _ = compress_estimator(model, data.train, Budget(params=1.0))
    np.testing.assert_array_equal(answer(small, data.test), answer(model, data.test))


@pytest.mark.parametrize(
    "embed",
    [
        {"model": "communities", "settings": COMMUNITIES},
        {"model": "count-vae", "settings": {"latent_dim": 2, "encoder_dims": [6], **SMALL}},
        {"model": "als", "settings": {"num_factors": 2, "epochs": 2}},
    ],
    ids=lambda embed: embed["model"],
)
def test_codes_as_features_of_series(embed):
    people = two_blocks().history
    vectors = embed_users(people, embed)
    series = two_phases()
    described = replace(series.train, features=vectors[: len(series.train)])
    model = NeuralEM(**NEURAL).fit(described)
    assert model.feature_dim_ == vectors.shape[1]
    empty = Sequences(np.empty((0, 2)), np.zeros(3, dtype=np.int64), features=vectors[-2:])
    models = model.models_for(empty)  # nothing observed: features alone decide
    assert len(models.parameters_["initial"]) == 2
    assert np.isfinite(models.parameters_["transition"]).all()
