"""The estimator; what all estimators keep to is in tests/test_contracts.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gossamer.data.text import build_sentences
from gossamer.models.lowrank import CompressedLanguageModel
from gossamer.models.lowrank import language_model as module
from gossamer.testing.right_answers import two_topics

SMALL = {
    "embedding_dim": 12,
    "hidden_dim": 12,
    "num_layers": 1,
    "num_samples": None,
    "num_steps": 6,
    "epochs": 6,
    "learning_rate": 0.05,
    "batch_size": 4,
    "search_rows": 4,
    "calibration_batches": 2,
    "iterations": 3,
    "polish": 1,
}


@pytest.fixture(scope="module")
def whole() -> CompressedLanguageModel:
    return CompressedLanguageModel(**SMALL).fit(two_topics().train)


def small(whole: CompressedLanguageModel, **settings: object) -> CompressedLanguageModel:
    """Return the whole model's network, compressed."""
    model = CompressedLanguageModel(**SMALL | settings)
    model.restore(whole.learned_arrays(), whole.learned_vocabularies(), whole.learned_metadata())
    return model.compress(two_topics().train)


def test_the_planted_order_is_learned(whole: CompressedLanguageModel):
    measured = whole.evaluate(two_topics().test)
    assert measured["perplexity"] < 3  # of 14 words; the next one is certain, but for the first of a sentence
    assert measured["params_share"] == measured["layers_params_share"] == 1.0
    assert whole.explain() == {"layers": [{"layer": "model", "rank": "whole"}]}


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("allocator", ["cobla", "pos_cvx"])
def test_the_lstm_alone_within_half_of_itself(tied: bool, allocator: str):
    train = two_topics().train
    settings = {"macs": 0.5, "params": 0.5, "budget_of": "layers", "only": ["layers.*"], "allocator": allocator}
    model = CompressedLanguageModel(**SMALL | {"epochs": 1, "tied": tied} | settings).fit(train)
    assert model.report_ is not None
    split = [layer.names for layer in model.report_.layers if layer.rank is not None]
    assert split
    assert all(name.startswith("layers.") for names in split for name in names)
    measured = model.evaluate(two_topics().test)
    assert measured["layers_macs_share"] <= 0.5
    assert measured["layers_params_share"] <= 0.5
    assert 0.5 < measured["params_share"] < 1
    assert {"embedding", "output"} - {"output" if tied else ""} <= {layer.names[0] for layer in model.report_.layers}


@pytest.mark.parametrize("tied", [True, False])
def test_the_whole_model_within_bytes(tied: bool):
    whole = CompressedLanguageModel(**SMALL | {"epochs": 1, "tied": tied}).fit(two_topics().train)
    limit = int(0.6 * whole.num_bytes())
    found = small(whole, tied=tied, bytes=limit, allocator="pos_cvx")
    assert found.num_bytes() <= limit
    assert found.evaluate(two_topics().test)["bytes_share"] <= 0.6
    ranks = {layer.names[0]: layer.rank for layer in found.report_.layers}
    assert any(ranks[name] is not None for name in ("embedding", "output") if name in ranks)


def test_a_tied_table_is_split_as_one(whole: CompressedLanguageModel):
    found = small(whole, params=0.7, only=["embedding"], budget_of="layers", allocator="uniform")
    words = torch.tensor([[1, 2]])
    network = found.network_
    hidden, _ = network.hidden(words)
    torch.testing.assert_close(
        network.logits(hidden), hidden @ network.embedding.weight.t() + network.output_bias, rtol=1e-4, atol=1e-4
    )
    assert type(network.layers) is torch.nn.LSTM  # untouched, with its fused kernels


def test_fine_tuning_helps_on_what_it_was_tuned_on(whole: CompressedLanguageModel):
    train = two_topics().train
    settings = {"params": 0.6, "allocator": "uniform"}
    before, after = small(whole, **settings), small(whole, fine_tune_epochs=2, fine_tune_rate=0.01, **settings)
    assert after.num_values() == before.num_values()
    assert after.evaluate(train)["perplexity"] < before.evaluate(train)["perplexity"]


def test_the_search_by_answers_looks_at_no_words_that_follow(
    whole: CompressedLanguageModel, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> torch.Tensor:
        raise InterruptedError("the loss was asked for")

    monkeypatch.setattr(CompressedLanguageModel, "_loss", refuse)
    found = small(whole, params=0.7)
    assert found.report_.allocator == "cobla"
    assert found.evaluate(two_topics().test)["params_share"] <= 0.7
    with pytest.raises(InterruptedError, match="the loss was asked for"):
        small(whole, params=0.7, guide="loss")


@pytest.mark.parametrize("guide", ["answers", "loss"])
def test_either_guide_keeps_more_than_singular_values_do(whole: CompressedLanguageModel, guide: str):
    found = small(whole, params=0.5, guide=guide, iterations=10, polish=20)
    rule = small(whole, params=0.5, allocator="pos_cvx")
    ours, theirs = (model.evaluate(two_topics().test)["perplexity"] for model in (found, rule))
    assert ours < 0.95 * theirs
    with pytest.raises(ValueError, match=f"guide must be one of 'answers', 'loss', got '{guide}s'"):
        small(whole, params=0.5, guide=f"{guide}s")


def test_the_whole_network_is_kept_between_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    train, trained = two_topics().train, []
    original = module.train_language_model
    monkeypatch.setattr(module, "train_language_model", lambda *a, **k: trained.append(1) or original(*a, **k))
    settings = SMALL | {"epochs": 1, "base": str(tmp_path / "kept"), "allocator": "pos_cvx"}
    first = CompressedLanguageModel(**settings).fit(train)
    again = CompressedLanguageModel(**settings, params=0.8).fit(train)
    assert len(trained) == 1
    assert again.report_ is not None
    unkept = CompressedLanguageModel(**settings | {"base": None}, params=0.8).fit(train)
    for name, array in again.learned_arrays().items():
        np.testing.assert_array_equal(array, unkept.learned_arrays()[name], err_msg=name)
    CompressedLanguageModel(**settings | {"dropout": 0.1}).fit(train)
    CompressedLanguageModel(**settings).fit(train[:20])
    assert len(trained) == 4  # other settings, other data
    assert len(list((tmp_path / "kept").iterdir())) == 3
    np.testing.assert_array_equal(
        CompressedLanguageModel(**settings).fit(train).log_likelihood(train), first.log_likelihood(train)
    )


def test_texts_without_words_are_named(whole: CompressedLanguageModel):
    with pytest.raises(ValueError, match="data must have at least one word the model knows, got"):
        whole.evaluate(two_topics().test[:0])
    with pytest.raises(ValueError, match="data must have at least 3 words the model knows, got Sentences"):
        CompressedLanguageModel(**SMALL).fit(build_sentences(["two words"], unknown=None))


def test_what_is_compressed_already_and_bases_without_a_seed(whole: CompressedLanguageModel):
    found = small(whole, params=0.8, allocator="uniform")
    with pytest.raises(ValueError, match="the network must be whole to be compressed, got one that is compressed"):
        found.compress(two_topics().train)
    with pytest.raises(ValueError, match="random_state must be a number where base keeps the network, got None"):
        CompressedLanguageModel(base="some/folder", random_state=None).fit(two_topics().train)
    with pytest.raises(ValueError, match="only must match a layer, of embedding, "):
        small(whole, params=0.8, only=["lstm"])
    with pytest.raises(ValueError, match="budget params must be at least"):
        small(whole, params=0.01)
    with pytest.raises(ValueError, match="budget must have at least one of macs, params"):
        small(whole)
