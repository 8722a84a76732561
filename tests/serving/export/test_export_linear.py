"""Linear models beyond the contracts: many items and factors, no factors, weights that stay sparse."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.interactions import Interactions
from gossamer.models.linear import ALS, BiasedMF, ItemKNN
from gossamer.serving.export.onnx_file import draw_graph
from gossamer.testing.export_parity import Session, assert_parity, padded

pytest.importorskip("onnxruntime")


def many_items(num_users=60, num_items=80):
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((num_users, num_items)) < 0.15)
    names = [f"u{user}" for user in users], [f"i{item}" for item in items]
    return Interactions.from_pairs(*names, rng.integers(1, 6, len(users)).astype(float))


@pytest.mark.parametrize("settings", [{}, {"weighted": True, "reg_exponent": 0.5}], ids=["plain", "weighted"])
def test_fold_in_of_many_factors(settings):
    data = many_items()
    model = ALS(num_factors=24, epochs=2, **settings).fit(data)
    assert_parity(model, data, tolerance=2e-4)
    ids, values = padded(data[:4].aligned_to(model.items_).matrix("rating"))
    found = Session(model)(items=ids, values=values)
    np.testing.assert_allclose(found["user_factors"], model.fold_in(data[:4]), atol=2e-4)


def test_neighbours_stay_sparse():
    data = many_items(num_items=200)
    model = ItemKNN(num_neighbours=5).fit(data)
    assert_parity(model, data)
    assert draw_graph(model).num_bytes() < 200 * 200 * 4 / 10


def test_biases_alone():
    data = many_items()
    assert_parity(BiasedMF(num_factors=0, epochs=2).fit(data), data)
