"""The alternating solver on planted anchors: it finds them, stays within budgets and goes on after a stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gossamer.models.embeddings.ratings.als_step import RAMP, AnchorSweep
from gossamer.testing.planted import PlantedAnchors, planted_anchors
from gossamer.training.checkpoint import copy_state


def centred(planted: PlantedAnchors) -> sparse.csr_array:
    matrix = planted.data.matrix("rating")
    return sparse.csr_array((matrix.data - matrix.data.mean(), matrix.indices, matrix.indptr), shape=matrix.shape)


def sweep_of(ratings: sparse.csr_array, **changed: Any) -> AnchorSweep:
    arguments: dict[str, Any] = {
        "embedding_dim": 4,
        "user_anchors": 6,
        "item_anchors": 6,
        "num_slots": 6,
        "biases": False,
        "charge": 0.01,
        "budget": None,
        "random_state": 0,
    }
    return AnchorSweep(ratings, **(arguments | changed))


def test_planted_ratings_are_found_with_few_entries():
    planted = planted_anchors(num_users=120, num_items=90, noise=0.05)
    ratings = centred(planted)
    step = sweep_of(ratings, embedding_dim=5, charge=0.02)
    for _ in range(25):
        scalars = step(None, 1.0)
    predicted = step.users.vectors @ step.items.vectors.T + planted.data.matrix("rating").data.mean()
    assert np.square(predicted - planted.ratings).mean() < 0.02 * planted.ratings.var()
    assert scalars["loss"] < 0.02 * planted.ratings.var() + 0.05**2
    assert step.users.transform().nnz < 4.5 * 120  # two planted, and the mean that was taken away needs some


@pytest.mark.parametrize("biases", [False, True])
def test_no_sweep_past_the_ramp_is_above_the_budget(biases: bool):
    ratings = centred(planted_anchors(noise=0.3))
    step = sweep_of(ratings, biases=biases, budget=260)
    sizes = [step(None, 1.0)["values"] for _ in range(RAMP + 5)]
    assert max(sizes) > 260
    assert max(sizes[RAMP - 1 :]) <= 260
    assert sizes[-1] > 180
    assert sizes[-1] == step.num_values()


def test_a_higher_charge_stores_less_and_errs_more():
    ratings = centred(planted_anchors(noise=0.3))
    sizes, errors = [], []
    for charge in (0.05, 0.5, 5.0):
        step = sweep_of(ratings, charge=charge)
        for _ in range(RAMP):
            scalars = step(None, 1.0)
        sizes.append(scalars["values"])
        errors.append(scalars["loss"])
    assert sizes[0] > sizes[1] > sizes[2]
    assert errors[0] < errors[1] < errors[2]


def test_a_run_from_a_state_ends_with_the_same_bits():
    ratings = centred(planted_anchors(noise=0.3))
    first = sweep_of(ratings, budget=300, biases=True)
    for _ in range(3):
        first(None, 1.0)
    state = copy_state(first.state_dict())
    second = sweep_of(ratings, budget=300, biases=True)
    second.load_state_dict(state)
    for _ in range(3):
        assert first(None, 1.0) == second(None, 1.0)
    np.testing.assert_array_equal(first.users.vectors, second.users.vectors)


def test_users_and_items_without_ratings_embed_to_zero():
    ratings = sparse.csr_array(np.pad(centred(planted_anchors()).toarray(), ((0, 2), (0, 1))))
    step = sweep_of(ratings)
    for _ in range(3):
        step(None, 1.0)
    assert (step.users.vectors[-2:] == 0).all()
    assert (step.items.vectors[-1] == 0).all()


@pytest.mark.parametrize("biases", [False, True])
def test_ratings_that_are_all_the_same_need_no_entries(biases: bool):
    ones = sparse.csr_array(np.ones((8, 7), dtype=np.float32))
    step = sweep_of(sparse.csr_array((0 * ones.data, ones.indices, ones.indptr), shape=ones.shape), biases=biases)
    for _ in range(3):
        scalars = step(None, 1.0)
    assert scalars["loss"] < 1e-3
    assert (step.users.vectors == 0).all()


def test_bad_input_is_named():
    ratings = centred(planted_anchors())
    with pytest.raises(ValueError, match=r"budget must be above the 49 numbers of 6 \+ 6 anchors and the mean, got 49"):
        sweep_of(ratings, budget=49)
    state = sweep_of(ratings).state_dict()
    with pytest.raises(ValueError, match=r"anchors of users must have shape \(7, 4\) .* got \(6, 4\)"):
        sweep_of(ratings, user_anchors=7).load_state_dict(state)
