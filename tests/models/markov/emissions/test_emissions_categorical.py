from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.markov.emissions import Categorical, Prior, owner_sums

FAMILY = Categorical()
PROBS = torch.tensor([[[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]], dtype=torch.double)


def test_density_is_the_log_probability_and_nothing_where_missing():
    values = FAMILY.check(np.array([0.0, 2.0, np.nan]), None, None)
    found = FAMILY.log_density(FAMILY.observe(values, 3), {"probs": PROBS})
    expected = np.log([[0.5, 0.1], [1e-320, 0.7], [1.0, 1.0]])
    expected[1, 0] = -np.inf
    np.testing.assert_allclose(found, expected)


def test_gradient_is_finite_where_a_probability_is_zero():
    probs = PROBS.clone().requires_grad_()
    found = FAMILY.log_density(FAMILY.observe(np.array([0, 1, 2]), 3), {"probs": probs})
    found[found > -torch.inf].sum().backward()
    assert torch.isfinite(probs.grad).all()


def test_maximum_is_the_share_of_each_category():
    values = np.array([0, 1, 1, -1, 2])
    weights = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [9.0, 9.0], [0.0, 1.0]], dtype=torch.double)
    observed = FAMILY.observe(values, 3)
    sums = owner_sums(observed, weights, None, 1)
    found = FAMILY.maximise(sums, observed, Prior(), None)["probs"]
    torch.testing.assert_close(found, torch.tensor([[[0.4, 0.6, 0.0], [0.0, 1 / 3, 2 / 3]]]).double())
    raised = FAMILY.maximise(sums, observed, Prior(pseudo_count=1.0), None)["probs"]
    torch.testing.assert_close(raised[0, 0], torch.tensor([2.0, 2.5, 1.0]).double() / 5.5)


def test_every_series_can_have_its_own_probabilities():
    both = torch.cat([PROBS, PROBS.flip(1)])
    series = torch.tensor([0, 1])
    observed = FAMILY.observe(np.array([1, 1]), 3)
    np.testing.assert_allclose(FAMILY.log_density(observed, {"probs": both}, series).exp(), [[0.5, 0.2], [0.2, 0.5]])
    sums = owner_sums(observed, torch.ones(2, 2).double(), series, 2)
    assert sums.tolist() == [[[0, 1, 0]] * 2] * 2


def test_samples_have_the_probabilities_of_their_state():
    states = np.repeat([0, 1], 5000)
    drawn = FAMILY.sample({"probs": PROBS}, states, np.zeros(10_000, dtype=np.int64), np.random.default_rng(0))
    for state in range(2):
        shares = np.bincount(drawn[states == state], minlength=3) / 5000
        np.testing.assert_allclose(shares, PROBS[0, state], atol=0.03)
    assert (drawn[states == 0] < 2).all()


@pytest.mark.parametrize(
    ("values", "size", "message"),
    [
        (np.array([0, 1, 7]), 3, "data must have categories below 3, .* got the unseen category 7"),
        (np.array([0.5]), None, "data must be categories 0, 1, 2 … for 'categorical', got 0.5"),
        (np.array([-1]), None, "data must be categories 0, 1, 2"),
        (np.zeros((2, 2)), None, r"data must have one category per step for 'categorical', got shape \(2, 2\)"),
    ],
)
def test_bad_categories_are_named(values: np.ndarray, size: int | None, message: str):
    with pytest.raises(ValueError, match=message):
        FAMILY.check(values, None, size)


def test_one_category_is_refused():
    values = np.array([3, 3, -1])
    with pytest.raises(ValueError, match="data must have at least two categories, got only 3"):
        FAMILY.prior_for(FAMILY.observe(values, 4), values, Prior())
