from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.linear.step import ImplicitSweep, RatingSweep, whole_data
from gossamer.testing import oracles
from gossamer.testing.contracts import two_blocks


def implicit_sweep(cg_steps: int | None, num_factors: int = 4) -> ImplicitSweep:
    return ImplicitSweep(
        two_blocks().history.matrix("rating"),
        num_factors=num_factors,
        unobserved_weight=0.2,
        regularization=0.02,
        reg_exponent=0.7,
        cg_steps=cg_steps,
        generator=np.random.default_rng(0),
    )


def rating_sweep(num_factors: int = 3) -> RatingSweep:
    ratings = two_blocks().history.matrix("rating")
    ratings.data = ratings.data - np.float32(3)
    return RatingSweep(
        ratings,
        num_factors=num_factors,
        regularization=0.05,
        bias_regularization=1.0,
        generator=np.random.default_rng(0),
    )


def test_an_epoch_is_one_batch():
    assert [list(whole_data().epoch(epoch)) for epoch in range(2)] == [[(None, 1.0)]] * 2


@pytest.mark.parametrize("cg_steps", [None, 1, 3])
def test_implicit_loss_is_the_dense_one_and_never_rises(cg_steps: int | None):
    sweep = implicit_sweep(cg_steps)
    weights = sweep.by_user.toarray().astype(np.float64)
    losses = []
    for _ in range(10):
        losses.append(sweep(None, 1.0)["loss"])
        dense = oracles.ials_loss(
            weights, sweep.user_factors, sweep.item_factors, sweep.user_penalty, sweep.item_penalty, 0.2
        )
        assert losses[-1] == pytest.approx(dense / sweep.by_user.nnz, rel=1e-4)
    assert (np.diff(losses) <= 1e-6).all()


def test_a_sweep_solves_users_then_items():
    sweep = implicit_sweep(None)
    weights = sweep.by_user.toarray().astype(np.float64)
    users = oracles.ials_rows(weights, sweep.item_factors.astype(np.float64), sweep.user_penalty, 0.2)
    items = oracles.ials_rows(weights.T, users, sweep.item_penalty, 0.2)
    sweep(None, 1.0)
    np.testing.assert_allclose(sweep.user_factors, users, atol=1e-3)
    np.testing.assert_allclose(sweep.item_factors, items, atol=1e-3)


@pytest.mark.parametrize("num_factors", [0, 3])
def test_rating_loss_is_the_dense_one_and_never_rises(num_factors: int):
    sweep = rating_sweep(num_factors)
    ratings = sweep.by_user.toarray().astype(np.float64)
    observed = two_blocks().history.matrix().toarray()
    losses = []
    for _ in range(10):
        losses.append(sweep(None, 1.0)["loss"])
        users, items = sweep.user_factors.astype(np.float64), sweep.item_factors.astype(np.float64)
        prediction = users[:, :1] + items[:, 0] + users[:, 1:] @ items[:, 1:].T
        dense = np.sum(observed * (ratings - prediction) ** 2)
        dense += np.sum(sweep.user_penalty * users**2) + np.sum(sweep.item_penalty * items**2)
        assert losses[-1] == pytest.approx(dense / sweep.by_user.nnz, rel=1e-3)
    assert (np.diff(losses) <= 1e-6).all()


def test_penalties_of_factors_grow_with_the_number_of_ratings():
    sweep = rating_sweep(2)
    np.testing.assert_allclose(sweep.user_penalty[0], [1.0, 0.25, 0.25])
    np.testing.assert_allclose(sweep.item_penalty[0], [1.0, 0.5, 0.5])


@pytest.mark.parametrize("make", [lambda: implicit_sweep(3), rating_sweep])
def test_state_goes_back_exactly(make):
    first, second = make(), make()
    first(None, 1.0)
    second.load_state_dict(first.state_dict())
    assert first(None, 1.0) == second(None, 1.0)
    np.testing.assert_array_equal(first.item_factors, second.item_factors)


def test_a_state_of_other_data_is_refused():
    state = implicit_sweep(3, num_factors=5).state_dict()
    with pytest.raises(ValueError, match=r"^user_factors must have shape \(24, 4\) .* got \(24, 5\)"):
        implicit_sweep(3).load_state_dict(state)
