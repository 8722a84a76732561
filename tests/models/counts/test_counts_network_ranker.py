from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.data.interactions import Interactions
from gossamer.models.counts.cdae import CDAE
from gossamer.models.counts.mult_vae import MultVAE
from gossamer.testing.contracts import BLOCK_ITEMS, two_blocks

SMALL = {
    "latent_dim": 3,
    "hidden_dims": [6],
    "epochs": 30,
    "batch_size": 8,
    "learning_rate": 0.02,
    "annealing_epochs": 5,
}


def test_users_without_items_are_left_out_of_training():
    history = two_blocks().history
    nobody = Interactions.from_pairs(
        history.users.ids.gather(history.pairs()[0]),
        history.items.ids.gather(history.pairs()[1]),
        user_ids=type(history.users)(["first", *history.users, "last"]),
        item_ids=history.items,
    )
    assert nobody.user_counts[0] == nobody.user_counts[-1] == 0
    with_them, without = (MultVAE(**SMALL).fit(data) for data in (nobody, history))
    for name, array in without.learned_arrays().items():
        np.testing.assert_array_equal(with_them.learned_arrays()[name], array, err_msg=name)


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


def test_scores_of_a_row_do_not_depend_on_the_others():
    model = MultVAE(**SMALL).fit(two_blocks().history)
    matrix = two_blocks().history.matrix()
    together = model._score_matrix(matrix)
    alone = np.concatenate([model._score_matrix(matrix[row : row + 1]) for row in range(matrix.shape[0])])
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-5)
    empty = model._score_matrix(sparse.csr_array((2, matrix.shape[1]), dtype=np.float32))
    np.testing.assert_array_equal(empty[0], empty[1])


@pytest.mark.parametrize("estimator", [MultVAE(**SMALL), CDAE(hidden_dim=4, epochs=2)])
def test_data_without_interactions_are_refused(estimator: MultVAE | CDAE):
    empty = two_blocks().history.keep(np.zeros(two_blocks().history.nnz, dtype=bool))
    with pytest.raises(ValueError, match=r"^data must have at least one interaction, got 0$"):
        estimator.fit(empty)
