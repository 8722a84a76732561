from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gossamer.data.counts import Counts
from gossamer.models.counts import count_vae
from gossamer.models.counts.batch import CountBatch, take_batch
from gossamer.models.counts.count_vae import CountVAE
from gossamer.models.counts.step import INFERENCES
from gossamer.models.counts.unigram import Unigram
from gossamer.testing.contracts import two_themes
from gossamer.testing.planted import planted_topics

SMALL: dict[str, Any] = {
    "latent_dim": 2,
    "encoder_dims": [8],
    "epochs": 10,
    "batch_size": 11,
    "learning_rate": 0.02,
}


@parametrize_with_checks(
    [
        CountVAE(latent_dim=2, encoder_dims=(4,), epochs=2, batch_size=30),
        CountVAE(latent_dim=2, encoder_dims=(4,), decoder_dims=(3,), epochs=1, batch_size=30, inference="amortised"),
    ]
)
def test_scikit_learn_agrees(estimator: CountVAE, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize("decoder_dims", [[], [6]], ids=["linear", "hidden"])
def test_every_way_of_learning_beats_the_unigram_model(inference: str, decoder_dims: list[int]):
    parts = two_themes()
    settings = {**SMALL, "epochs": 25, "decoder_dims": decoder_dims, "inference": inference}
    model = CountVAE(**settings).fit(parts.train)
    assert (model.network_.encoder is None) == (inference == "svi")
    bar = Unigram().fit(parts.train).evaluate(parts.test)
    assert model.perplexity(parts.test) < 0.85 * bar["perplexity_document_refined"]


def test_planted_topics_are_learned_almost_to_the_truth():
    planted = planted_topics(num_documents=300, num_terms=40)
    train, test = planted.data[:240], planted.data[240:]
    settings = {"latent_dim": 6, "encoder_dims": [20], "epochs": 40, "batch_size": 40, "learning_rate": 0.02}
    model = CountVAE(**settings).fit(train)
    probs = planted.proportions[240:] @ planted.topics
    likelihood = (test.matrix.toarray() * np.log(probs)).sum(axis=1)
    truth = np.exp(-likelihood.sum() / test.matrix.sum())  # with each document's own mixture, which nobody has
    unigram = Unigram().fit(train).evaluate(test)["perplexity_token_refined"]
    assert model.perplexity(test, "token") < truth + 0.4 * (unigram - truth)


def test_arrays_tables_and_counts_give_the_same_model():
    data = two_themes().train
    dense = data.matrix.toarray()
    table = pd.DataFrame(dense, columns=list(data.terms))
    fits = [CountVAE(**SMALL).fit(given) for given in (data, data.matrix, dense, dense.astype(int).tolist(), table)]
    for other in fits[1:]:
        for name, array in fits[0].learned_arrays().items():
            np.testing.assert_array_equal(array, other.learned_arrays()[name], err_msg=name)
    assert fits[0].terms_ == fits[4].terms_ == data.terms
    assert list(fits[2].terms_) == list(range(len(data.terms)))
    assert fits[4].feature_names_in_.tolist() == list(data.terms)


def test_columns_of_a_table_keep_their_names_through_an_artifact(tmp_path: Path):
    data = two_themes().train
    table = pd.DataFrame(data.matrix.toarray(), columns=list(data.terms))
    model = CountVAE(**SMALL).fit(table)
    model.save(tmp_path / "model")
    loaded = CountVAE.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(table), model.transform(table))
    np.testing.assert_array_equal(loaded.transform(data), model.transform(table))
    with pytest.raises(ValueError, match=r"Feature names must be in the same order as they were in fit"):
        loaded.transform(table[table.columns[::-1]])
    loaded.fit(data)  # counts have terms, and scikit-learn no columns to remember
    assert not hasattr(loaded, "feature_names_in_")


def test_training_documents_without_words_change_nothing_but_the_frequencies():
    data = two_themes().train
    empty = sparse.csr_array((3, len(data.terms)), dtype=np.float32)
    padded = Counts(sparse.vstack([data.matrix[:20], empty, data.matrix[20:]], format="csr"), data.terms)
    settings = {**SMALL, "inputs": "norm"}  # tf-idf counts documents
    first, second = CountVAE(**settings).fit(data), CountVAE(**settings).fit(padded)
    for name, array in first.learned_arrays().items():
        np.testing.assert_array_equal(array, second.learned_arrays()[name], err_msg=name)


def test_validation_keeps_the_best_epoch_and_patience_stops():
    parts = two_themes()
    settings = {**SMALL, "epochs": 60, "patience": 2, "learning_rate": 0.3}
    model = CountVAE(**settings).fit(parts.train, validation=parts.valid)
    epochs = model.history_["epochs"]
    assert len(epochs) < 60
    best = min(epoch["perplexity_document_refined"] for epoch in epochs)
    assert model.evaluate(parts.valid)["perplexity_document_refined"] == pytest.approx(best, rel=1e-6)
    assert {"loss", "kl", "encoder_loss", "used_directions", "perplexity_token_amortised"} <= set(epochs[0])


def test_validation_data_may_stand_where_scikit_learn_has_y():
    parts = two_themes()
    named = CountVAE(**SMALL).fit(parts.train, validation=parts.valid)
    placed = CountVAE(**SMALL).fit(parts.train, parts.valid)
    assert placed.history_["epochs"] == named.history_["epochs"]
    unwatched = CountVAE(**SMALL).fit(parts.train, parts.train.labels)
    assert set(unwatched.history_["epochs"][0]) == {"epoch", "loss", "kl", "encoder_loss"}
    as_matrix = CountVAE(**SMALL).fit(parts.train, validation=parts.valid.matrix)
    assert as_matrix.history_["epochs"] == named.history_["epochs"]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"inference": "svi"},
        {"keep_posteriors": True, "average_decay": 0.9},
        {"inference": "amortised-then-refined"},
    ],
    ids=str,
)
def test_interrupted_training_leaves_a_checkpoint_and_ends_with_the_same_bits(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruptible: None
):
    data = two_themes().train
    settings = {**SMALL, **change}
    whole = CountVAE(**settings).fit(data)
    taken = iter(range(14))

    def interrupt_at_the_fifteenth(*arguments: Any) -> CountBatch:
        if next(taken, None) is None:
            os.kill(os.getpid(), signal.SIGINT)  # Ctrl-C, in the middle of the fourth epoch
        return take_batch(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(count_vae, "take_batch", interrupt_at_the_fifteenth)
        with pytest.raises(KeyboardInterrupt):
            CountVAE(**settings).fit(data, checkpoint=tmp_path / "run", log=tmp_path / "log.jsonl")
    assert (tmp_path / "run").stat().st_size > 0
    second = CountVAE(**settings).fit(data, checkpoint=tmp_path / "run", log=tmp_path / "log.jsonl")
    for name, array in whole.learned_arrays().items():
        np.testing.assert_array_equal(array, second.learned_arrays()[name], err_msg=name)
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == SMALL["epochs"]


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path):
    data = two_themes().train
    CountVAE(**{**SMALL, "epochs": 1}).fit(data, checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match=r"decoder must have the shapes .*; train anew with another checkpoint"):
        CountVAE(**{**SMALL, "latent_dim": 3}).fit(data, checkpoint=tmp_path / "run")


def test_a_wide_vocabulary_is_learned_with_row_sparse_gradients(monkeypatch: pytest.MonkeyPatch):
    data = two_themes()
    dense = CountVAE(**SMALL).fit(data.train)
    monkeypatch.setattr(count_vae, "ROW_SPARSE_FROM", 1)
    rows = CountVAE(**SMALL).fit(data.train)
    assert rows.network_.encoder is not None
    assert rows.network_.encoder.input_layer.sparse_gradient
    for name, array in dense.learned_arrays().items():
        np.testing.assert_allclose(array, rows.learned_arrays()[name], rtol=1e-2, atol=1e-3, err_msg=name)


def test_averaged_networks_are_what_is_judged_and_saved():
    data = two_themes()
    plain = CountVAE(**SMALL).fit(data.train)
    averaged = CountVAE(**SMALL, average_decay=0.95).fit(data.train, validation=data.valid)
    assert not np.array_equal(plain.transform(data.test), averaged.transform(data.test))
    measured = averaged.evaluate(data.valid)["perplexity_document_refined"]
    assert measured == pytest.approx(
        min(epoch["perplexity_document_refined"] for epoch in averaged.history_["epochs"]), rel=1e-6
    )


def test_it_lives_in_a_pipeline_and_is_cloned_with_lists_or_tuples():
    data = two_themes().train
    model = CountVAE(**SMALL)
    codes = make_pipeline(model, StandardScaler()).fit_transform(data.matrix)
    assert codes.shape == (44, 2)
    assert codes.mean() == pytest.approx(0, abs=1e-5)
    first, second = clone(model).fit(data), CountVAE(**{**SMALL, "encoder_dims": (8,)}).fit(data)
    np.testing.assert_array_equal(first.transform(data), second.transform(data))
    assert first.get_feature_names_out().tolist() == ["countvae0", "countvae1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"latent_dim": 0}, r"latent_dim must be an integer >= 1, got 0"),
        ({"encoder_dims": []}, r"encoder_dims must be a list of 1 or more widths, got \[\]"),
        ({"decoder_dims": [0]}, r"decoder_dims must be an integer >= 1, got 0"),
        ({"inputs": "bm25"}, r"inputs must be one of 'tfidf', 'norm', 'counts', 'l2', got 'bm25'"),
        ({"inference": "exact"}, r"inference must be one of .*, got 'exact'"),
        ({"switch_at": 2}, r"switch_at must be a finite number >= 0 and <= 1, got 2"),
        ({"refine_steps": -1}, r"refine_steps must be an integer >= 0, got -1"),
        ({"refine_tolerance": -1.0}, r"refine_tolerance must be a finite number >= 0, got -1.0"),
        ({"beta": 0}, r"beta must be a finite number > 0, got 0"),
        ({"dropout": 1}, r"dropout must be a finite number >= 0 and < 1, got 1"),
        ({"average_decay": 1.0}, r"average_decay must be a finite number >= 0 and < 1, got 1.0"),
        ({"patience": 0}, r"patience must be an integer >= 1, got 0"),
        ({"random_state": -1}, r"random_state must be None, a non-negative int or a numpy Generator, got -1"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        CountVAE(**{**SMALL, **change}).fit(np.ones((2, 2)))


def test_bad_validation_data_are_named_as_such():
    with pytest.raises(ValueError, match=r"validation must hold whole numbers, got 0.5 in row 0, column 0"):
        CountVAE(**SMALL).fit(np.ones((2, 2)), validation=np.full((2, 2), 0.5))


def test_an_artifact_with_surplus_or_misfit_arrays_is_refused():
    model = CountVAE(**SMALL).fit(two_themes().train)
    arrays, vocabularies, metadata = model.learned_arrays(), model.learned_vocabularies(), model.learned_metadata()
    with pytest.raises(ValueError, match=r"arrays must be those of the network, got also network.extra"):
        clone(model).restore(arrays | {"network.extra": np.zeros(1)}, vocabularies, metadata)
    with pytest.raises(ValueError, match=r"array 'network.encoder.layers.0.weight' must have shape"):
        clone(model).set_params(latent_dim=3).restore(arrays, vocabularies, metadata)
    with pytest.raises(ValueError, match=r"vocabularies must be named terms, got items"):
        clone(model).restore(arrays, {"items": vocabularies["terms"]}, metadata)
