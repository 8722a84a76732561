from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from gossamer.data.text import build_sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.spikeslab import SentenceVAE
from gossamer.models.spikeslab.module import GRUEncoder
from gossamer.models.spikeslab.ragged import pack_sentences
from gossamer.testing.right_answers import two_topics

SMALL = {
    "latent_dim": 4,
    "embedding_dim": 8,
    "hidden_dim": 16,
    "epochs": 3,
    "batch_size": 12,
    "learning_rate": 0.01,
    "max_length": 8,
}


@pytest.fixture(scope="module")
def parts():
    return two_topics()


@pytest.fixture(scope="module")
def learned(parts):
    """A code that says the topic: the words of a sentence follow from it and from each other."""
    settings = SMALL | {"prior": "gaussian", "epochs": 60, "learning_rate": 0.02, "hidden_dim": 24}
    return SentenceVAE(**settings).fit(parts.train)


def test_codes_say_the_topic_and_sentences_are_rebuilt(learned, parts):
    rebuilt = learned.reconstruct(parts.test)
    topics = [str(parts.test.words(row)[0])[0] for row in range(len(parts.test))]
    assert [str(rebuilt.words(row)[0])[0] for row in range(len(rebuilt))] == topics
    first, last = (topics.index(topic) for topic in "ab")
    path = learned.interpolate(parts.test[np.array([first, last])], num_steps=5)
    assert [str(path.words(step)[0])[0] for step in (0, 4)] == ["a", "b"]


@pytest.mark.parametrize("prior", ["spike_slab", "mat", "vsc"])
def test_sparse_codes_are_csr_with_zeros(prior, parts):
    model = SentenceVAE(prior=prior, **SMALL).fit(parts.train)
    codes = model.transform(parts.test)
    assert sparse.issparse(codes)
    assert codes.shape == (len(parts.test), 4)
    measured = model.evaluate(parts.test)
    assert codes.nnz == round(measured["active"] * len(parts.test))
    assert measured["elbo"] == pytest.approx(-sum(measured[part] for part in ("reconstruction", "kl_z", "kl_gamma")))
    for kind in ("mean", "sample"):
        assert model.transform(parts.test, kind=kind).shape == codes.shape
    with pytest.raises(ValueError, match="kind must be one of 'sparse', 'mean', 'sample', got 'dense'"):
        model.transform(parts.test, kind="dense")


def test_sparse_codes_may_have_a_threshold(parts):
    model = SentenceVAE(**SMALL).fit(parts.train)
    off = model._encode(parts.test).off_probs
    for threshold in (0.3, 0.5, 0.9):
        codes = model.transform(parts.test, threshold=threshold)
        np.testing.assert_array_equal(codes.toarray() != 0, off < threshold)
    with pytest.raises(ValueError, match="threshold must be a finite number > 0 and <= 1, got 2"):
        model.transform(parts.test, threshold=2)
    with pytest.raises(ValueError, match=r"threshold must be None unless kind is 'sparse', got 0\.5"):
        model.transform(parts.test, kind="mean", threshold=0.5)


def test_the_dial_is_for_one_prior_and_moves_alpha(parts, caplog):
    with pytest.raises(ValueError, match="prior must be 'spike_slab' for a sparsity to be set, got 'gaussian'"):
        SentenceVAE(prior="gaussian", sparsity=0.5).fit(parts.train)
    with pytest.raises(ValueError, match="patience must be None with a sparsity, got 3; codes reach"):
        SentenceVAE(sparsity=0.5, patience=3).fit(parts.train)
    with caplog.at_level(logging.WARNING):
        model = SentenceVAE(sparsity=0.95, **SMALL).fit(parts.train, parts.valid)
    assert model.alpha_ != 4
    assert model.beta_ == 1
    assert "sparsity 0.95 was asked for and" in caplog.text
    with pytest.raises(AttributeError, match="prior must be 'spike_slab'"):
        _ = SentenceVAE(prior="mat", **SMALL).fit(parts.train).alpha_


def test_patience_goes_back_to_the_best_epoch(parts):
    model = SentenceVAE(**SMALL | {"patience": 1, "epochs": 5}).fit(parts.train, parts.valid)
    losses = [epoch["valid_loss"] for epoch in model.history_["epochs"]]
    assert model.history_["best_epoch"] == int(np.argmin(losses))


def test_unknown_words_of_validation_data_are_said_once(parts, caplog):
    strange = build_sentences(["a0 and nothing", "b0 or"], unknown=None)
    with caplog.at_level(logging.WARNING):
        SentenceVAE(**SMALL | {"patience": 3}).fit(parts.train, strange)
    assert caplog.text.count("words of validation are not in the vocabulary") == 1


@pytest.mark.parametrize(("prior", "part"), [("gaussian", "penalty"), ("vsc", "divergence")])
def test_patience_watches_all_that_is_minimised(prior, part, parts):
    weights = {"norm": "l1", "norm_weight": 1e4, "lam": 1e4}
    model = SentenceVAE(prior=prior, **SMALL | weights | {"patience": 1, "epochs": 1}).fit(parts.train, parts.valid)
    measured = model.evaluate(parts.valid)
    without = measured["reconstruction"] + model.psi * measured["kl_z"] + 1e4 * measured["kl_gamma"]
    valid = pack_sentences(parts.valid, np.arange(len(parts.valid)), 8)
    with torch.no_grad():
        drawn = model.network_.codes.draw(model.network_.features(valid), None)
    missing = 1e4 * getattr(drawn, part).item()
    assert missing > 0.01 * without
    assert model.history_["epochs"][0]["valid_loss"] == pytest.approx(without + missing, rel=1e-4)


def test_strange_sentences_have_codes_too(learned, parts, caplog):
    strange = build_sentences(["", "no such words", "a0 and " * 30], unknown=None)
    with caplog.at_level(logging.WARNING):
        codes = learned.transform(strange, kind="mean")
    assert np.isfinite(codes).all()
    assert "3 of 63 words of data are not in the vocabulary and become <unk>" in caplog.text
    assert "1 of 3 sentences of data are cut after 8 words" in caplog.text
    measured = learned.evaluate(strange)
    assert measured["truncated"] == pytest.approx(1 / 3)
    assert measured["unknown"] == pytest.approx(3 / 63)
    assert np.isfinite(list(learned.evaluate(strange[:1]).values())).all()


def test_training_data_that_teach_nothing_are_refused():
    with pytest.raises(ValueError, match="vocabulary of at least 2 words, got 1"):
        SentenceVAE().fit(build_sentences(["a", "a a"], unknown=None))
    with pytest.raises(ValueError, match="at least one word, got 1 empty sentences"):
        SentenceVAE().fit(build_sentences([""], vocabulary=Vocabulary(["a", "b"]), unknown=None))


def test_bad_requests_are_named(learned, parts):
    with pytest.raises(ValueError, match="data must be 2 sentences to go from one to the other, got 6"):
        learned.interpolate(parts.test)
    with pytest.raises(ValueError, match=r"codes must have the shape \(N, 4\), got \(2, 3\)"):
        learned.decode(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="dimension must be an integer >= 0 and <= 3, got 4"):
        learned.top_sentences(parts.test, 4)
    with pytest.raises(ValueError, match="data must have a label for each sentence, got none"):
        learned.class_patterns(build_sentences(["a0 and"]))


def test_patterns_and_sentences_of_dimensions(parts):
    model = SentenceVAE(**SMALL).fit(parts.train)
    patterns = model.class_patterns(parts.test)
    assert patterns.shape == (2, 4)
    assert ((patterns >= 0) & (patterns <= 1)).all()
    assert len(model.top_sentences(parts.train, 0, n=2)) <= 2
    assert len(model.explain(3)["dimensions"]) == 3


class MeanEncoder(nn.Module):
    """One vector per sentence: the mean of its words'."""

    feature_dim = 8

    def forward(self, batch, vectors):
        sums = vectors.new_zeros(batch.num_sentences, 8).index_add_(0, batch.sentence, vectors)
        return sums / torch.bincount(batch.sentence).unsqueeze(1)


def test_a_table_and_an_encoder_of_the_callers(parts, tmp_path):
    table = AnchorEmbedding(len(parts.train.vocabulary), 8, num_anchors=4, num_slots=2, sparse=False)
    before = table.anchors.detach().clone()
    model = SentenceVAE(**SMALL).fit(parts.train, table=table, encoder=MeanEncoder())
    assert not torch.equal(before, table.anchors)
    assert model.transform(parts.test).shape == (6, 4)
    with pytest.raises(ValueError, match="table and encoder must be the model's own for an artifact"):
        model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"table must give vectors of embedding_dim = 8, got the shape \(1, 5\)"):
        SentenceVAE(**SMALL).fit(parts.train, table=nn.Embedding(len(parts.train.vocabulary), 5))
    with pytest.raises(ValueError, match=r"encoder.feature_dim must be an integer >= 1, got None"):
        SentenceVAE(**SMALL).fit(parts.train, encoder=nn.Identity())
    with pytest.raises(ValueError, match="table must have dense gradients, got row-sparse ones of 'values'; make it"):
        SentenceVAE(**SMALL).fit(parts.train, table=AnchorEmbedding(len(parts.train.vocabulary), 8, num_anchors=4))


def test_writing_a_table_out_knows_whose_the_encoder_is_and_draws_nothing(parts, tmp_path):
    table = nn.Embedding(len(parts.train.vocabulary), 8)
    model = SentenceVAE(**SMALL | {"epochs": 1}).fit(parts.train, table=table, encoder=GRUEncoder(8, 16))
    before = torch.get_rng_state()
    model.write_out_table()
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(ValueError, match="table and encoder must be the model's own for an artifact"):
        model.save(tmp_path / "model")
    own = SentenceVAE(**SMALL | {"epochs": 1}).fit(parts.train, table=table)
    own.write_out_table()
    own.save(tmp_path / "model")
    again = SentenceVAE.load(tmp_path / "model")
    again.write_out_table()
    again.save(tmp_path / "again")


def test_gradients_through_a_table_of_the_callers_are_clipped_too(parts, monkeypatch):
    bounds = []
    clip = nn.utils.clip_grad_norm_
    monkeypatch.setattr(nn.utils, "clip_grad_norm_", lambda *a, **k: bounds.append(k["max_norm"]) or clip(*a, **k))
    SentenceVAE(**SMALL | {"epochs": 1}).fit(parts.train, table=nn.Embedding(len(parts.train.vocabulary), 8))
    assert set(bounds) == {5.0}


def test_spikes_are_the_papers_or_thinner_where_the_dial_needs_it(parts, tmp_path, caplog):
    wide = SMALL | {"latent_dim": 32, "epochs": 1}
    with caplog.at_level(logging.WARNING):
        by_default = SentenceVAE(**wide, sparsity=0.6).fit(parts.train)
        thinner = SentenceVAE(**wide, sparsity=0.8).fit(parts.train)
    assert (by_default.spike_scale_, SentenceVAE(**SMALL).fit(parts.train).spike_scale_) == (0.05, 0.05)
    assert thinner.spike_scale is None
    assert thinner.spike_scale_ < 0.01
    assert "is above the Average Hoyer" not in caplog.text
    thinner.network_.codes.spike_scale = 0.007  # as if another rule had chosen it
    thinner.save(tmp_path / "model")
    assert SentenceVAE.load(tmp_path / "model").spike_scale_ == 0.007
    with caplog.at_level(logging.WARNING):
        SentenceVAE(**wide, sparsity=0.8, spike_scale=0.05).fit(parts.train)
    assert "sparsity 0.80 is above the Average Hoyer of about 0.68 that 32 dimensions with slabs" in caplog.text
    with pytest.raises(AttributeError, match="prior must be 'spike_slab' or 'mat' for spikes with a scale, got 'vsc'"):
        _ = SentenceVAE(**SMALL, prior="vsc").fit(parts.train).spike_scale_


def test_a_missed_sparsity_is_said_without_validation_data_too(parts, caplog):
    with caplog.at_level(logging.WARNING):
        SentenceVAE(sparsity=0.95, **SMALL).fit(parts.train)
    assert "reached on the last batches, with alpha" in caplog.text


def grammar(num_sentences):
    """Three kinds of sentences with words of their own."""
    rng = np.random.default_rng(0)
    kinds = {
        "animals": ("the {} {} in the {}", ["cat", "dog", "fox"], ["sat", "ran", "slept"], ["hall", "wood", "barn"]),
        "orders": ("{} cups of {} {}", ["two", "three", "four"], ["tea", "coffee", "milk"], ["please", "now"]),
        "weather": ("{} will be {} with {}", ["today", "tomorrow"], ["cold", "warm", "grey"], ["rain", "sun"]),
    }
    labels = [list(kinds)[number % 3] for number in range(num_sentences)]
    texts = [kinds[kind][0].format(*map(rng.choice, kinds[kind][1:])) for kind in labels]
    return build_sentences(texts, labels=labels)


GRAMMAR = {"embedding_dim": 24, "hidden_dim": 48, "epochs": 12, "batch_size": 16, "learning_rate": 0.005}


@pytest.mark.slow
def test_the_dial_is_met_and_gates_know_the_kinds_of_a_grammar():
    """Codes are as sparse as asked, and kinds shut other gates."""
    data = grammar(700)
    model = SentenceVAE(sparsity=0.5, latent_dim=12, **GRAMMAR).fit(data[:600])
    assert model.evaluate(data[600:])["average_hoyer_sample"] == pytest.approx(0.5, abs=0.05)
    assert model.class_measures(data[600:])["gate_spread"] > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("gates", ["balanced", "free"])
def test_a_sparsity_of_08_is_met_by_default(gates, caplog):
    data = grammar(900)
    with caplog.at_level(logging.WARNING):
        model = SentenceVAE(sparsity=0.8, gates=gates, **GRAMMAR).fit(data[:600], data[600:])
    assert model.evaluate(data[600:])["average_hoyer_sample"] == pytest.approx(0.8, abs=0.05)
    assert caplog.text == ""
