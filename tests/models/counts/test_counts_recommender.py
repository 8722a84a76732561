from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from gossamer.models.counts.batch import CountBatch, take_batch
from gossamer.models.counts.bound import bound
from gossamer.models.counts.inference import infer
from gossamer.models.counts.recommender import CountRecommender
from gossamer.testing.contracts import two_blocks

SMALL = {"latent_dim": 3, "encoder_dims": [6], "decoder_dims": [5], "batch_size": 8, "learning_rate": 0.02}


def fitted(**arguments: object) -> CountRecommender:
    return CountRecommender(**{"epochs": 15, "average_decay": 0.5} | SMALL | arguments).fit(two_blocks().history)  # type: ignore[arg-type]


def history_batch(model: CountRecommender) -> CountBatch:
    matrix = two_blocks().history.matrix()
    return take_batch(matrix, model.features_.values(matrix), np.arange(matrix.shape[0]))


@pytest.mark.parametrize("decoder_dims", [[5], []])
def test_scores_are_log_probabilities_at_the_means_and_both_is_their_sum(decoder_dims: list[int]):
    model, matrix = fitted(decoder_dims=decoder_dims), two_blocks().history.matrix()
    scores = {name: model.set_params(scoring=name)._score_matrix(matrix) for name in ("amortised", "refined", "both")}
    batch, network = history_batch(model), model.network_
    with torch.no_grad():
        mean = network.encoder(batch).mean
        expected = torch.log_softmax(network.decoder.logits(mean), dim=1)
    np.testing.assert_allclose(scores["amortised"], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.exp(scores["refined"]).sum(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(scores["both"], scores["amortised"] + scores["refined"], rtol=1e-5, atol=1e-5)
    assert np.abs(scores["refined"] - scores["amortised"]).max() > 1e-3


@pytest.mark.parametrize(("method", "decoder_dims"), [("adam", [5]), ("adam", []), ("newton", [])])
def test_refinement_climbs_the_bound_of_training(method: str, decoder_dims: list[int]):
    """The weight of the KL is beta there, and is so here; with another weight the optimum lies elsewhere.

    Newton's method below hidden layers climbs an approximation, which is not exact enough for so small a network.
    """
    model = fitted(decoder_dims=decoder_dims, beta=0.2, refine_method=method)
    batch, network = history_batch(model), model.network_
    generator = torch.Generator().manual_seed(0)
    settings = replace(model._refinement(in_training=False), steps=300 if method == "adam" else 30)
    posteriors = {
        "amortised": infer(network, batch, None, generator),
        "refined": infer(network, batch, settings, generator, model.beta),
        "other": infer(network, batch, settings, generator, 5.0),
    }
    noise = torch.randn(400, len(batch), 3, generator=generator)
    with torch.no_grad():
        bounds = {
            name: torch.stack([bound(network.decoder, posterior, batch, draw, model.beta) for draw in noise]).mean()
            for name, posterior in posteriors.items()
        }
    assert bounds["refined"] > bounds["amortised"]
    assert bounds["refined"] > bounds["other"]


def test_scores_may_be_refined_with_another_weight_of_the_kl():
    model, matrix = fitted(beta=0.2, scoring="refined"), two_blocks().history.matrix()
    own = model._score_matrix(matrix)
    np.testing.assert_array_equal(model.set_params(scoring_beta=0.2)._score_matrix(matrix), own)
    freer = model.set_params(scoring_beta=0.02)._score_matrix(matrix)
    np.testing.assert_array_equal(freer, model.set_params(scoring_beta=None, beta=0.02)._score_matrix(matrix))
    # The less the KL counts, the more of the history is told.
    assert (freer * matrix.toarray()).sum() > (own * matrix.toarray()).sum()


def test_no_steps_of_refinement_leave_the_encoders_answer():
    model, matrix = fitted(refine_steps=0), two_blocks().history.matrix()
    refined, amortised = (model.set_params(scoring=name)._score_matrix(matrix) for name in ("refined", "amortised"))
    np.testing.assert_allclose(refined, amortised, rtol=1e-6)


def test_inputs_are_scaled():
    matrix = two_blocks().history.matrix()
    lengths = [np.linalg.norm(fitted(epochs=1, input_scale=scale).features_.values(matrix)[:5]) for scale in (1.0, 5.0)]
    np.testing.assert_allclose(lengths, [1.0, 5.0], rtol=1e-5)


@pytest.mark.parametrize("inference", ["amortised", "refined"])
def test_what_is_kept_is_the_average(inference: str):
    last, averaged = (fitted(inference=inference, average_decay=decay) for decay in (0.0, 0.9))
    assert last.history_["epochs"][-1]["loss"] == averaged.history_["epochs"][-1]["loss"], "the same walk"
    assert not torch.equal(last.network_.decoder.weight, averaged.network_.decoder.weight)
    np.testing.assert_array_equal(
        averaged.learned_arrays()["network.decoder.weight"], averaged.network_.decoder.weight.numpy()
    )


@pytest.mark.parametrize("inference", ["amortised", "refined"])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path, inference: str):
    history = two_blocks().history
    arguments = SMALL | {"inference": inference, "average_decay": 0.9}
    straight = CountRecommender(epochs=4, **arguments).fit(history)
    CountRecommender(epochs=2, **arguments).fit(history, checkpoint=tmp_path / "checkpoint")
    resumed = CountRecommender(epochs=4, **arguments).fit(history, checkpoint=tmp_path / "checkpoint")
    for name, array in straight.learned_arrays().items():
        np.testing.assert_array_equal(resumed.learned_arrays()[name], array, err_msg=name)


def test_the_best_epoch_by_validation_is_kept():
    held_out = two_blocks()
    model = CountRecommender(epochs=12, average_decay=0.5, **SMALL).fit(held_out.history, held_out)
    best = model.history_["epochs"][model.history_["best_epoch"]]
    assert best["ndcg@100"] == max(epoch["ndcg@100"] for epoch in model.history_["epochs"])
    assert model.evaluate(held_out)["ndcg@100"] == best["ndcg@100"]


def test_explanation_has_items_and_directions():
    tables = fitted(epochs=40).explain(2)
    assert list(tables) == ["what popular items speak for", "topics"]
    strongest = tables["topics"][0]
    assert {item[0] for item in strongest["raises"][:3]} != {item[0] for item in strongest["lowers"][:3]}


def test_diagnosis_is_of_histories():
    held_out = two_blocks()
    model = fitted()
    found = model.diagnose(held_out, held_out.history)
    assert found["latent_dim"] == 3
    assert len(found["rare_terms"]["kl"]) == len(held_out)
    with pytest.raises(ValueError, match=r"^data must be Interactions, got ndarray"):
        model.diagnose(np.eye(3))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"latent_dim": 0}, r"^latent_dim must be an integer >= 1, got 0$"),
        ({"encoder_dims": []}, r"^encoder_dims must be a list of 1 or more widths, got \[\]$"),
        ({"decoder_dims": 400}, r"^decoder_dims must be a list of widths, got 400$"),
        ({"input_scale": 0}, r"^input_scale must be a finite number > 0, got 0$"),
        ({"inference": "svi"}, r"^inference must be one of 'amortised', 'refined', got 'svi'$"),
        ({"scoring": "sum"}, r"^scoring must be one of 'amortised', 'refined', 'both', got 'sum'$"),
        ({"refine_steps": -1}, r"^refine_steps must be an integer >= 0, got -1$"),
        ({"average_decay": 1}, r"^average_decay must be a finite number >= 0 and < 1, got 1$"),
        ({"init_range": -0.1}, r"^init_range must be a finite number > 0, got -0\.1$"),
        ({"scoring_beta": 0}, r"^scoring_beta must be a finite number > 0, got 0$"),
        ({"decoder_decay": -1}, r"^decoder_decay must be a finite number >= 0, got -1$"),
        ({"beta": 0}, r"^beta must be a finite number > 0, got 0$"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        CountRecommender(**arguments).fit(two_blocks().history)  # type: ignore[arg-type]
