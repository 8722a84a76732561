from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.markov.emissions import Categorical, Multinomial, Prior, owner_sums

FAMILY = Multinomial()
PROBS = torch.tensor([[[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]], dtype=torch.double)


def test_strength_one_of_one_category_is_the_categorical():
    codes = np.array([0, 1, 2, 1])
    found = FAMILY.log_density(FAMILY.observe(np.eye(3)[codes], 3), {"probs": PROBS})
    expected = Categorical().log_density(Categorical().observe(codes, 3), {"probs": PROBS})
    torch.testing.assert_close(found, expected)


def test_density_weighs_logs_by_strengths_and_nothing_says_nothing():
    values = np.array([[0.25, 0.75, 0.0], [0.0, 0.0, 0.0], [np.nan, np.nan, np.nan]])
    found = FAMILY.log_density(FAMILY.observe(values, 3), {"probs": PROBS})
    assert found[0, 1].item() == pytest.approx(0.25 * np.log(0.1) + 0.75 * np.log(0.2))
    assert (found[1:] == 0).all()


def test_maximum_is_the_share_of_strength():
    values = np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
    observed = FAMILY.observe(values, 3)
    found = FAMILY.maximise(owner_sums(observed, torch.ones(2, 1).double(), None, 1), observed, Prior(), None)
    np.testing.assert_allclose(found["probs"][0, 0], [0.25, 0.35, 0.4])


def test_density_is_differentiable():
    probs = torch.softmax(torch.randn(1, 2, 3).double(), -1).requires_grad_()
    observed = FAMILY.observe(np.random.default_rng(0).dirichlet(np.ones(3), size=4), 3)
    assert torch.autograd.gradcheck(lambda p: FAMILY.log_density(observed, {"probs": p}), [probs])


def test_samples_are_one_category_with_strength_one():
    drawn = FAMILY.sample(
        {"probs": PROBS}, np.zeros(50, dtype=np.int64), np.zeros(50, dtype=np.int64), np.random.default_rng(0)
    )
    assert (drawn.sum(1) == 1).all()
    assert (drawn[:, 2] == 0).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, -0.5]], "data must be strengths >= 0 for 'multinomial', got -0.5"),
        ([[1.0, np.nan]], "seen or missing in whole steps for 'multinomial', got step 0"),
    ],
)
def test_bad_strengths_are_named(values: list[list[float]], message: str):
    with pytest.raises(ValueError, match=message):
        FAMILY.check(np.array(values), None, None)


def test_strength_in_one_category_only_is_refused():
    values = np.array([[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="data must have strength in at least two categories, got 1"):
        FAMILY.prior_for(FAMILY.observe(values, 2), values, Prior())
