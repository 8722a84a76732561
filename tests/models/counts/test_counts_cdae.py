from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gossamer.models.counts.cdae import CDAE
from gossamer.testing.contracts import two_blocks

SMALL = {"hidden_dim": 6, "batch_size": 8, "learning_rate": 0.05}


@pytest.mark.parametrize("user_vector", ["mean", "zero", "none"])
def test_a_strangers_vector_is_what_was_asked_for(user_vector: str):
    held_out = two_blocks()
    model = CDAE(epochs=60, user_vector=user_vector, **SMALL).fit(held_out.history)
    assert bool(model.network_.stranger.any()) == (user_vector == "mean")
    answer = model.recommend(held_out.history, n=1)
    np.testing.assert_array_equal(answer.items[:, 0], held_out.target.indices)


def test_users_are_not_stored():
    """An artifact is as large for a million users as for ten, and holds nothing that belongs to one of them."""
    arrays = CDAE(epochs=2, **SMALL).fit(two_blocks().history).learned_arrays()
    assert {name: array.shape for name, array in arrays.items()} == {
        "popularity": (12,),
        "network.stranger": (6,),
        "network.input_layer.weight": (12, 6),
        "network.input_layer.bias": (6,),
        "network.output_layer.weight": (12, 6),
        "network.output_layer.bias": (12,),
    }


def test_validation_judges_with_the_strangers_vector_of_the_moment():
    """What the history says of the best epoch is what the model measures afterwards."""
    held_out = two_blocks()
    model = CDAE(epochs=8, **SMALL).fit(held_out.history, held_out)
    best = model.history_["epochs"][model.history_["best_epoch"]]
    assert model.evaluate(held_out) == {name: best[name] for name in ("recall@20", "recall@50", "ndcg@100")}


def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path):
    history = two_blocks().history
    straight = CDAE(epochs=5, **SMALL).fit(history)
    CDAE(epochs=2, **SMALL).fit(history, checkpoint=tmp_path / "checkpoint")
    resumed = CDAE(epochs=5, **SMALL).fit(history, checkpoint=tmp_path / "checkpoint")
    for name, array in straight.learned_arrays().items():
        np.testing.assert_array_equal(resumed.learned_arrays()[name], array, err_msg=name)


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path):
    history = two_blocks().history
    CDAE(epochs=1, **SMALL).fit(history, checkpoint=tmp_path / "checkpoint")
    other = CDAE(epochs=2, **SMALL | {"hidden_dim": SMALL["hidden_dim"] + 1})
    with pytest.raises(ValueError, match=r"^the network must be that of its checkpoint, got .*; train anew"):
        other.fit(history, checkpoint=tmp_path / "checkpoint")


def test_items_that_are_all_but_certain_keep_their_order():
    """The probability of each is 1 in single precision, and its logarithm 0."""
    model = CDAE(epochs=1, **SMALL).fit(two_blocks().history)
    with torch.no_grad():
        model.network_.output_layer.bias.copy_(torch.arange(120, 240, 10))
    answer = model.recommend(two_blocks().history, n=3, exclude_seen=False)
    assert (answer.items == [11, 10, 9]).all()


def test_a_heavy_penalty_leaves_popularity():
    history = two_blocks().history
    scores = CDAE(epochs=60, l2=1e4, **SMALL).fit(history)._score_matrix(history.matrix())
    assert np.abs(scores - scores.mean(axis=0)).max() < 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden_dim": 0}, r"^hidden_dim must be an integer >= 1, got 0$"),
        ({"corruption": 1.0}, r"^corruption must be a finite number >= 0 and < 1, got 1\.0$"),
        ({"user_vector": "median"}, r"^user_vector must be one of 'mean', 'zero', 'none', got 'median'$"),
        ({"num_negatives": 0}, r"^num_negatives must be a finite number > 0, got 0$"),
        ({"l2": -1}, r"^l2 must be a finite number >= 0, got -1$"),
        ({"activation": "relu"}, r"^activation must be one of 'sigmoid', 'tanh', 'identity', got 'relu'$"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        CDAE(**arguments).fit(two_blocks().history)  # type: ignore[arg-type]
