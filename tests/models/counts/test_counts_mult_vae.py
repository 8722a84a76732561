from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gossamer.models.counts.mult_vae import MultVAE
from gossamer.testing.contracts import two_blocks

SMALL = {"latent_dim": 3, "hidden_dims": [6, 5], "batch_size": 8, "learning_rate": 0.02, "annealing_epochs": 3}


def test_scores_are_those_of_the_dense_network():
    """Unit length, tanh layers, the mean of the posterior, tanh layers in the reverse order, log-softmax."""
    history = two_blocks().history
    model = MultVAE(epochs=2, **SMALL).fit(history)
    weights = {name: value.double() for name, value in model.network_.state_dict().items()}
    x = torch.from_numpy(history.matrix().toarray()).double()
    hidden = x / x.norm(dim=1, keepdim=True) @ weights["encoder.input_layer.weight"]
    hidden = torch.tanh(hidden + weights["encoder.input_layer.bias"])
    hidden = torch.tanh(hidden @ weights["encoder.layers.0.weight"].T + weights["encoder.layers.0.bias"])
    z = (hidden @ weights["encoder.layers.1.weight"].T + weights["encoder.layers.1.bias"])[:, :3]
    assert weights["decoder.layers.0.weight"].shape == (5, 3)
    for layer in range(2):
        z = torch.tanh(z @ weights[f"decoder.layers.{layer}.weight"].T + weights[f"decoder.layers.{layer}.bias"])
    expected = torch.log_softmax(z @ weights["decoder.weight"].T + weights["decoder.bias"], dim=1)
    np.testing.assert_allclose(model._score_matrix(history.matrix()), expected, rtol=1e-4, atol=1e-4)


def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path):
    history = two_blocks().history
    straight = MultVAE(epochs=5, **SMALL).fit(history)
    MultVAE(epochs=2, **SMALL).fit(history, checkpoint=tmp_path / "checkpoint", log=tmp_path / "log.jsonl")
    resumed = MultVAE(epochs=5, **SMALL).fit(history, checkpoint=tmp_path / "checkpoint", log=tmp_path / "log.jsonl")
    for name, array in straight.learned_arrays().items():
        np.testing.assert_array_equal(resumed.learned_arrays()[name], array, err_msg=name)
    assert len(resumed.history_["epochs"]) == 5


def test_a_heavy_kl_leaves_popularity():
    """With all of the bound in the KL, codes say nothing, and everyone gets the same order."""
    history = two_blocks().history
    model = MultVAE(epochs=60, **SMALL | {"annealing_epochs": 0}, beta=1e4).fit(history)
    scores = model._score_matrix(history.matrix())
    assert np.abs(scores - scores.mean(axis=0)).max() < 0.1
    light = MultVAE(epochs=60, **SMALL).fit(history)._score_matrix(history.matrix())
    assert np.abs(light - light.mean(axis=0)).max() > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden_dims": []}, r"^hidden_dims must be a list of 1 or more widths, got \[\]$"),
        ({"hidden_dims": [0]}, r"^hidden_dims must be an integer >= 1, got 0$"),
        ({"dropout": 1.0}, r"^dropout must be a finite number >= 0 and < 1, got 1\.0$"),
        ({"beta": 0}, r"^beta must be a finite number > 0, got 0$"),
        ({"annealing_epochs": -1}, r"^annealing_epochs must be an integer >= 0, got -1$"),
        ({"inputs": "tf-idf"}, r"^inputs must be one of 'tfidf', 'norm', 'counts', 'l2', got 'tf-idf'$"),
        ({"patience": 0}, r"^patience must be an integer >= 1, got 0$"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        MultVAE(**arguments).fit(two_blocks().history)  # type: ignore[arg-type]
