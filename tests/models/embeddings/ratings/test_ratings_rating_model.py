"""A rating model's sums against loops over pairs, and what it stores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.ratings.rating_model import RatingModel, SparseBiases


def small_model(shared_biases: bool = False) -> RatingModel:
    generator = np.random.default_rng(0)
    tables = [
        AnchorEmbedding.from_codes(generator.normal(size=(2, 3)), sparse.csr_array(generator.random((rows, 2))))
        for rows in (5, 4)
    ]
    users = SparseBiases.of(np.array([0.5, 0, 0, -1, 0]))
    return RatingModel(3.0, tables[0], tables[1], users, SparseBiases.of(np.zeros(4)), shared_biases)


@pytest.mark.parametrize("shared_biases", [False, True])
def test_a_rating_is_mean_biases_and_match(shared_biases: bool):
    model = small_model(shared_biases)
    p, q = model.users.weight.numpy(), model.items.weight.numpy()
    match = p[3, :2] @ q[1, :2] + p[3, 2] + q[1, 2] if shared_biases else p[3] @ q[1]
    alone = (p[3, 2] if shared_biases else 0) - 1
    found = model.rate(np.array([3, 3, -1, -1]), np.array([1, -1, -1, 1]))
    np.testing.assert_allclose(found[:3], [3 - 1 + match, 3 + alone, 3], rtol=1e-5)
    assert found[3] == pytest.approx(3 + (q[1, 2] if shared_biases else 0), rel=1e-5)


@pytest.mark.parametrize("shared_biases", [False, True])
def test_item_scores_are_mean_ratings(shared_biases: bool):
    model = small_model(shared_biases)
    users, items = np.divmod(np.arange(20), 4)
    ratings = model.rate(users, items).reshape(5, 4)
    np.testing.assert_allclose(model.item_scores(), ratings.mean(axis=0) - 3, rtol=1e-4)


def test_values_are_all_numbers_but_indices():
    model = small_model()
    assert model.num_values() == 1 + (2 * 3 + 5 * 2) + (2 * 3 + 4 * 2) + 2
    stored = model.stored()
    assert sum(array.size for array in stored.values() if array.dtype.kind == "f") == model.num_values()
    assert "items_biases" not in stored


def test_a_restored_model_rates_alike_and_damage_is_named():
    model = small_model(shared_biases=True)
    arrays, sizes = model.stored(), {"users": 5, "items": 4}
    again = RatingModel.restored("ant", model.configs(), arrays, sizes)
    pairs = np.arange(4), np.arange(4)
    np.testing.assert_array_equal(again.rate(*pairs), model.rate(*pairs))
    with pytest.raises(ValueError, match="tables must have a row for each of the 6 users"):
        RatingModel.restored("ant", model.configs(), arrays, sizes | {"users": 6})
    with pytest.raises(ValueError, match="tables must describe users, items and shared_biases, got None"):
        RatingModel.restored("ant", None, arrays, sizes)
    wrong = arrays | {"users_bias_rows": np.array([3, 0], dtype=np.int32)}
    with pytest.raises(ValueError, match=r"users_bias_rows must rise from 0 to at most 4, got \[3, 0\]"):
        RatingModel.restored("ant", model.configs(), wrong, sizes)
