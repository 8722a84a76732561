from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.models.counts import network_ranker
from gossamer.models.counts.batch import CountBatch, take_batch
from gossamer.models.counts.cdae import CDAE
from gossamer.models.counts.mult_vae import MultVAE
from gossamer.models.counts.network_ranker import NetworkRanker
from gossamer.models.counts.recommender import CountRecommender
from gossamer.testing.contracts import BLOCK_ITEMS, two_blocks

SMALL = {
    "latent_dim": 3,
    "hidden_dims": [6],
    "epochs": 30,
    "batch_size": 8,
    "learning_rate": 0.02,
    "annealing_epochs": 5,
}
SHORT = {"epochs": 4, "batch_size": 8, "learning_rate": 0.02}
NETWORKS = [
    MultVAE(latent_dim=3, hidden_dims=[6], annealing_epochs=2, **SHORT),
    CDAE(hidden_dim=4, **SHORT),
    CountRecommender(latent_dim=3, encoder_dims=[6], decoder_dims=[5], average_decay=0.8, **SHORT),
    CountRecommender(latent_dim=3, encoder_dims=[6], decoder_dims=[], inference="refined", **SHORT),
]
every_network = pytest.mark.parametrize("network", NETWORKS, ids=lambda network: type(network).__name__)


def anew(network: NetworkRanker) -> Any:
    return type(network)(**network.get_params())


def assert_same_arrays(first: NetworkRanker, second: NetworkRanker) -> None:
    others = second.learned_arrays()
    for name, array in first.learned_arrays().items():
        np.testing.assert_array_equal(others[name], array, err_msg=name)


@every_network
def test_users_without_items_are_left_out_of_training(network: NetworkRanker):
    history = two_blocks().history
    nobody = Interactions.from_pairs(
        history.users.ids.gather(history.pairs()[0]),
        history.items.ids.gather(history.pairs()[1]),
        user_ids=type(history.users)(["first", *history.users, "last"]),
        item_ids=history.items,
    )
    assert nobody.user_counts[0] == nobody.user_counts[-1] == 0
    assert_same_arrays(anew(network).fit(history), anew(network).fit(nobody))


def test_ratings_do_not_count():
    rated = two_blocks().history
    plain = Interactions.from_pairs(
        rated.users.ids.gather(rated.pairs()[0]),
        rated.items.ids.gather(rated.pairs()[1]),
        user_ids=rated.users,
        item_ids=rated.items,
    )
    assert plain.rating is None
    first, second = (MultVAE(**SMALL).fit(data) for data in (rated, plain))
    np.testing.assert_array_equal(first.network_.decoder.weight.detach(), second.network_.decoder.weight.detach())


def test_validation_keeps_the_best_epoch_and_stops():
    held_out = two_blocks()
    model = CDAE(hidden_dim=6, epochs=60, batch_size=8, learning_rate=0.05, patience=3).fit(held_out.history, held_out)
    scores = [epoch["ndcg@100"] for epoch in model.history_["epochs"]]
    assert model.history_["stopped_early"]
    assert model.history_["best_epoch"] == int(np.argmax(scores)) == len(scores) - 4
    assert model.evaluate(held_out)["ndcg@100"] == max(scores)


def test_an_item_speaks_for_its_own_block():
    model = MultVAE(**SMALL).fit(two_blocks().history)
    table = model.explain(4)["what popular items speak for"]
    assert len(table) == 4
    for row in table:
        others = row["speaks for"].split(", ")
        assert len(others) == min(5, 2 * BLOCK_ITEMS - 1)
        assert str(row["item"]) not in others
        assert others[0][0] == str(row["item"])[0]


@every_network
def test_scores_of_a_row_do_not_depend_on_the_others(network: NetworkRanker):
    model = anew(network).fit(two_blocks().history)
    matrix = two_blocks().history.matrix()
    together = model._score_matrix(matrix)
    alone = np.concatenate([model._score_matrix(matrix[row : row + 1]) for row in range(matrix.shape[0])])
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-5)
    empty = model._score_matrix(sparse.csr_array((2, matrix.shape[1]), dtype=np.float32))
    np.testing.assert_array_equal(empty[0], empty[1])


@every_network
def test_being_judged_does_not_change_training(network: NetworkRanker):
    """Validation switches dropout off, and it must be on again for the next epoch."""
    held_out = two_blocks()
    judged, unjudged = (anew(network).fit(held_out.history, validation) for validation in (held_out, None))
    losses = [[epoch["loss"] for epoch in model.history_["epochs"]] for model in (judged, unjudged)]
    assert losses[0] == losses[1]


@every_network
@pytest.mark.parametrize("moment", ["update", "validation"])
def test_interrupted_training_leaves_a_checkpoint_and_ends_with_the_same_bits(
    network: NetworkRanker, moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruptible: None
):
    held_out = two_blocks()
    whole = anew(network).fit(held_out.history, held_out)
    calls = iter(range(4 if moment == "update" else 2))  # in the second epoch of three batches, or after the third

    def interrupting(function: Any) -> Any:
        def call(*arguments: Any) -> CountBatch | dict[str, float]:
            if next(calls, None) is None:
                os.kill(os.getpid(), signal.SIGINT)  # Ctrl-C
            return function(*arguments)

        return call

    run = {"checkpoint": tmp_path / "run", "log": tmp_path / "log.jsonl"}
    with monkeypatch.context() as patch:
        if moment == "update":
            patch.setattr(network_ranker, "take_batch", interrupting(take_batch))
        else:
            patch.setattr(type(network), "evaluate", interrupting(type(network).evaluate))
        with pytest.raises(KeyboardInterrupt):
            anew(network).fit(held_out.history, held_out, **run)
    resumed = anew(network).fit(held_out.history, held_out, **run)
    assert_same_arrays(whole, resumed)
    assert resumed.history_["epochs"] == whole.history_["epochs"]
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 4


@every_network
def test_data_without_interactions_are_refused(network: NetworkRanker):
    empty = two_blocks().history.keep(np.zeros(two_blocks().history.nnz, dtype=bool))
    with pytest.raises(ValueError, match=r"^data must have at least one interaction, got 0$"):
        anew(network).fit(empty)


@every_network
def test_validation_data_are_checked_before_training(network: NetworkRanker, tmp_path: Path):
    held_out = two_blocks()
    untargeted = held_out.target.keep(np.zeros(held_out.target.nnz, dtype=bool))
    checkpoint = tmp_path / "run"
    with pytest.raises(ValueError, match=r"^validation must be HeldOut, got Interactions; build it with HeldOut\("):
        anew(network).fit(held_out.history, held_out.history, checkpoint=checkpoint)
    with pytest.raises(ValueError, match=r"^validation must have at least one target interaction, got 0$"):
        anew(network).fit(held_out.history, HeldOut(held_out.history, untargeted), checkpoint=checkpoint)
    assert not checkpoint.exists()
